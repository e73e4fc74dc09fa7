// Our text form of a graph: blocks in order, each with its nodes; a node is one operator with its name and inputs. Shapes are
// inferred, so they are not written.

#include "pcg/models/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/operators/operator_yaml.hpp"

namespace pcg::models {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

Yaml text(std::string s) { return Yaml::make_scalar(std::move(s)); }

std::string reference(const Graph& g, GraphTensorRef t) {
  const std::string& name = g.node(t.node).name;
  return t.output == 0 ? name : fmt::format("{}:{}", name, t.output);
}

Yaml write_node(const Graph& g, const GraphNode& n) {
  Yaml y = base::map_of({{"name", text(n.name)}});
  write_operator(n.op, y);
  if (n.inputs.empty()) return y;
  Yaml inputs = Yaml::make_sequence();
  for (const GraphTensorRef t : n.inputs) inputs.items.push_back(text(reference(g, t)));
  y.set("inputs", std::move(inputs));
  return y;
}

// Reads nodes into a builder; a problem leaves the node out, and its readers are then reported once by name.
class GraphReader {
 public:
  GraphReader(std::string name, Diagnostics& sink) : builder_(std::move(name)), sink_(sink) {}

  void block(const Yaml& y, const std::string& path) {
    MapReader r(y, path, sink_);
    r.require("name");
    builder_.begin_block(Block{.name = r.text("name").value_or(""),
                               .weighty = r.boolean("weighty").value_or(true),
                               .auxiliary = r.boolean("auxiliary").value_or(false)});
    if (const Yaml* nodes = list(r, "nodes"))
      for (std::size_t i = 0; i < nodes->items.size(); ++i) node(nodes->items[i], fmt::format("{}.nodes[{}]", path, i));
    r.finish();
  }
  // The items of a list under `key`, which must be there.
  const Yaml* list(MapReader& r, std::string_view key) {
    const Yaml* y = r.required(key);
    if (!y || y->is_sequence()) return y;
    r.complain(key, "expected a list");
    return nullptr;
  }
  GraphBuilder& builder() { return builder_; }

 private:
  void node(const Yaml& y, const std::string& path) {
    MapReader r(y, path, sink_);
    const std::size_t before = sink_.size();
    r.require("name");
    const std::string name = r.text("name").value_or("");
    const Operator op = read_operator(r);
    const std::optional<std::vector<GraphTensorRef>> inputs = read_inputs(r);
    r.finish();
    if (nodes_.contains(name)) r.complain("name", fmt::format("another node is called \"{}\"", name));
    std::optional<std::vector<GraphTensorRef>>& outputs = nodes_[name];
    if (sink_.size() > before || !inputs) return;
    try {
      outputs = builder_.add_raw(name, op, *inputs);
    } catch (const ShapeError& e) { sink_.add(y.mark, path, e.what()); }
  }

  // nullopt when one of them is missing or has a problem of its own.
  std::optional<std::vector<GraphTensorRef>> read_inputs(MapReader& r) {
    std::vector<GraphTensorRef> result;
    const Yaml* y = r.optional("inputs");
    if (!y) return result;
    if (!y->is_sequence()) r.complain("inputs", "expected a list of node names");
    for (std::size_t i = 0; i < y->items.size(); ++i) {
      const std::string path = fmt::format("{}[{}]", r.path_of("inputs"), i);
      const std::optional<std::string> word = base::as_text(y->items[i], path, sink_);
      if (!word) continue;
      if (const std::optional<GraphTensorRef> t = find(*word, y->items[i], path)) result.push_back(*t);
    }
    return result.size() < y->items.size() ? std::nullopt : std::optional(std::move(result));
  }

  // "name" or "name:output". nullopt: reported, unless the node's own problem is reported already.
  std::optional<GraphTensorRef> find(const std::string& word, const Yaml& at, const std::string& path) {
    std::string name = word;
    std::size_t output = 0;
    const std::size_t colon = word.rfind(':');
    if (!nodes_.contains(word) && colon != std::string::npos && colon + 1 < word.size() && word.size() - colon < 6 &&
        word.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
      name = word.substr(0, colon);
      output = std::stoul(word.substr(colon + 1));  // at most four digits
    }
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) {
      std::vector<std::string> known;
      for (const auto& [n, outputs] : nodes_) known.push_back(n);
      const std::string near = base::nearest_name(name, known);
      sink_.add(at.mark, path, fmt::format("no node before this one is called \"{}\"", name),
                near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
      return std::nullopt;
    }
    if (!found->second) return std::nullopt;
    if (output < found->second->size()) return (*found->second)[output];
    sink_.add(at.mark, path, fmt::format("\"{}\" has {} outputs", name, found->second->size()));
    return std::nullopt;
  }
  GraphBuilder builder_;
  Diagnostics& sink_;
  std::map<std::string, std::optional<std::vector<GraphTensorRef>>> nodes_;  // outputs by node; none: it has a problem
};

}  // namespace

std::string write_graph(const Graph& g) {
  Yaml blocks = Yaml::make_sequence();
  for (const Block& b : g.blocks()) {
    Yaml block = base::map_of({{"name", text(b.name)}});
    if (!b.weighty) block.set("weighty", text("false"));
    if (b.auxiliary) block.set("auxiliary", text("true"));
    block.set("nodes", Yaml::make_sequence());
    blocks.items.push_back(std::move(block));
  }
  for (const GraphNode& n : g.nodes()) blocks.items[static_cast<std::size_t>(n.block)].find("nodes")->items.push_back(write_node(g, n));
  Yaml graph = base::map_of({{"name", text(g.name())}, {"blocks", std::move(blocks)}});
  return base::emit_yaml(base::map_of({{"foreshard", text("1")}, {"graph", std::move(graph)}}));
}

Graph read_graph(const Yaml& document, const std::string& path) {
  Diagnostics sink;
  const Yaml* graph = &document;
  std::string graph_path = path;
  if (document.is_map() && document.find("foreshard")) {
    MapReader r(document, path, sink);
    (void)r.integer("foreshard", 1, 1);
    graph = r.required("graph");
    graph_path = r.path_of("graph");
    r.finish();
    if (!graph) sink.throw_if_any();
  }
  MapReader r(*graph, graph_path, sink);
  r.require("name");
  GraphReader reader(r.text("name").value_or(""), sink);
  if (const Yaml* blocks = reader.list(r, "blocks"))
    for (std::size_t i = 0; i < blocks->items.size(); ++i) reader.block(blocks->items[i], fmt::format("{}[{}]", r.path_of("blocks"), i));
  r.finish();
  sink.throw_if_any();
  try {
    Graph built = std::move(reader.builder()).build();
    if (std::ranges::all_of(built.nodes(), [](const GraphNode& n) { return n.inputs.empty(); }))
      base::refuse(graph->mark, graph_path, "computes nothing: no node has an input", "");
    return built;
  } catch (const ShapeError& e) { base::refuse(graph->mark, graph_path, e.what(), ""); }
}

}  // namespace pcg::models
