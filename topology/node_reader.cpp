#include "topology/node_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace topology {
namespace {

constexpr int kMaxGpusPerNode = 1024;  // tables of routes are quadratic in it

// The number of a name "gpu12", or nullopt for any other name.
std::optional<int> gpu_number(std::string_view name) {
  if (!name.starts_with("gpu") || name.size() == 3) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::optional<VertexKind> kind_of_component(std::string_view name) {
  if (name.starts_with("cpu")) return VertexKind::cpu;
  if (name.starts_with("switch")) return VertexKind::switching;
  if (name.starts_with("nic")) return VertexKind::nic;
  return std::nullopt;
}

class NodeReader {
 public:
  NodeReader(const std::vector<LinkType>& links, int preset_gpus, base::Diagnostics& sink)
      : links_(links), preset_gpus_(preset_gpus), sink_(sink) {}

  // `count`: known for the only type of a cluster; else the node says it.
  NodeType read(const base::Yaml& node, const std::string& path, std::optional<int> count) {
    base::MapReader map(node, path, sink_);
    NodeType type;
    if (count) {
      type.count = *count;
    } else {
      type.count = static_cast<int>(map.integer("count", 1, kMaxNodes).value_or(1));
      map.require("count");
    }
    if (const auto* gpus = map.required("gpus")) read_gpus(*gpus, map.path_of("gpus"), type);
    for (int i = 0; i < type.gpus; ++i) type.vertices.push_back({.name = fmt::format("gpu{}", i), .kind = VertexKind::gpu});
    if (const auto* components = map.optional("components")) read_components(*components, map.path_of("components"), type);
    const auto* domain = map.optional("domain");
    if (domain != nullptr) type.vertices.push_back({.name = "fabric", .kind = VertexKind::switching});
    if (const auto* wires = map.optional("wires")) read_wires(*wires, map.path_of("wires"), type);
    if (domain != nullptr) read_domain(*domain, map.path_of("domain"), type);
    map.finish();
    return type;
  }

 private:
  void read_gpus(const base::Yaml& gpus, const std::string& path, NodeType& type) {
    base::MapReader map(gpus, path, sink_);
    type.gpu_type = map.text("type").value_or("");
    type.gpus = static_cast<int>(map.integer("count", 1, kMaxGpusPerNode).value_or(0));
    type.memory = map.bytes("memory");
    if (type.memory && !(type.memory->value() > 0)) map.complain("memory", "a GPU's memory must be above 0");
    map.require("type");
    map.require("count");
    map.finish();
  }

  // Every GPU has a wire to the fabric, which is the node's last vertex.
  void read_domain(const base::Yaml& node, const std::string& path, NodeType& type) {
    base::MapReader map(node, path, sink_);
    Domain domain;
    domain.nodes = static_cast<int>(map.integer("nodes", 1, kMaxNodes).value_or(1));
    domain.segment = static_cast<int>(map.integer("segment", 1, domain.nodes).value_or(domain.nodes));
    const auto link = read_link_name(map, "link", links_);
    const int count = static_cast<int>(map.integer("count", 1, 1000).value_or(1));
    const bool in_network = map.boolean("in_network").value_or(false);
    map.require("nodes");
    map.require("link");
    map.finish();
    const auto reducer = std::ranges::find_if(type.vertices, &Vertex::in_network);
    if (in_network && reducer != type.vertices.end())
      map.complain("in_network", fmt::format("{} reduces already", reducer->name), "one of the two can");
    type.vertices.back().in_network = in_network;
    for (int gpu = 0; gpu < type.gpus; ++gpu)
      type.wires.push_back({.a = gpu, .b = static_cast<int>(type.vertices.size()) - 1, .link = link.value_or(0), .count = count});
    type.domain = domain;
  }

  void read_components(const base::Yaml& list, const std::string& path, NodeType& type) {
    if (!list.is_sequence()) {
      sink_.add(list.mark, path, "expected a list of names", "e.g. [cpu0, nic0]");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) read_component(list.items[i], fmt::format("{}[{}]", path, i), type);
  }

  void read_component(const base::Yaml& item, const std::string& path, NodeType& type) {
    Vertex vertex;
    if (item.is_map() && item.entries.size() == 1) {
      vertex.name = item.entries[0].key;
      base::MapReader map(item.entries[0].value, path + "." + vertex.name, sink_);
      vertex.in_network = map.boolean("in_network").value_or(false);
      map.finish();
    } else if (const auto name = base::as_text(item, path, sink_)) {
      vertex.name = *name;
    } else {
      return;
    }
    const auto kind = kind_of_component(vertex.name);
    if (!kind) {
      sink_.add(item.mark, path, fmt::format("\"{}\" is no component: names begin with cpu, switch or nic", vertex.name));
      return;
    }
    vertex.kind = *kind;
    if (vertex.in_network && *kind != VertexKind::switching) sink_.add(item.mark, path, "only a switch can have in_network");
    if (std::ranges::any_of(type.vertices, [&](const Vertex& v) { return v.name == vertex.name; })) {
      sink_.add(item.mark, path, fmt::format("\"{}\" is there twice", vertex.name));
      return;
    }
    type.vertices.push_back(std::move(vertex));
  }

  void read_wires(const base::Yaml& list, const std::string& path, NodeType& type) {
    if (!list.is_sequence()) {
      sink_.add(list.mark, path, "expected a list of wires", "e.g. - {between: [gpu0, cpu0], link: pcie}");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) read_wire(list.items[i], fmt::format("{}[{}]", path, i), type);
  }

  void read_wire(const base::Yaml& item, const std::string& path, NodeType& type) {
    base::MapReader map(item, path, sink_);
    Wire wire;
    const auto link = read_link_name(map, "link", links_);
    map.require("link");
    wire.count = static_cast<int>(map.integer("count", 1, 1000).value_or(1));
    const auto* between = map.optional("between");
    const auto* all_pairs = map.optional("all_pairs");
    map.finish();
    if (!item.is_map()) return;
    if ((between == nullptr) == (all_pairs == nullptr)) {
      sink_.add(item.mark, path, "a wire needs either \"between\" or \"all_pairs\"");
      return;
    }
    const bool pair = between != nullptr;
    const auto* ends = pair ? between : all_pairs;
    const std::string ends_path = map.path_of(pair ? "between" : "all_pairs");
    if (!ends->is_sequence() || (pair ? ends->items.size() != 2 : ends->items.size() < 2)) {
      sink_.add(ends->mark, ends_path, pair ? "expected two names" : "expected a list of at least two names");
      return;
    }
    std::vector<int> found = read_ends(*ends, ends_path, type);
    if (!link) return;
    wire.link = *link;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = i + 1; j < found.size(); ++j) {
        wire.a = found[i];
        wire.b = found[j];
        type.wires.push_back(wire);
      }
    }
  }

  // The vertices named, without GPUs that an override took away from a preset.
  std::vector<int> read_ends(const base::Yaml& ends, const std::string& path, const NodeType& type) {
    std::vector<int> found;
    for (std::size_t i = 0; i < ends.items.size(); ++i) {
      const std::string item_path = fmt::format("{}[{}]", path, i);
      const auto name = base::as_text(ends.items[i], item_path, sink_);
      if (!name) continue;
      const auto at = std::ranges::find(type.vertices, *name, &Vertex::name);
      const auto gpu = gpu_number(*name);
      if (at == type.vertices.end()) {
        if (type.gpus == 0 || (gpu && *gpu < preset_gpus_)) continue;  // the missing count is reported where it is missing
        complain_unknown_end(ends.items[i], item_path, *name, type);
        continue;
      }
      const int vertex = static_cast<int>(at - type.vertices.begin());
      if (std::ranges::find(found, vertex) != found.end()) {
        sink_.add(ends.items[i].mark, item_path, fmt::format("\"{}\" is there twice", *name));
        continue;
      }
      found.push_back(vertex);
    }
    return found;
  }

  void complain_unknown_end(const base::Yaml& item, const std::string& path, const std::string& name, const NodeType& type) {
    std::vector<std::string> names;
    for (const auto& v : type.vertices) names.push_back(v.name);
    if (gpu_number(name)) {
      sink_.add(item.mark, path, fmt::format("the node has no \"{}\"", name),
                type.gpus == 1 ? "its only GPU is gpu0" : fmt::format("its GPUs are gpu0 to gpu{}", type.gpus - 1));
    } else {
      sink_.add(item.mark, path, fmt::format("the node has no \"{}\"", name), base::suggest(name, names));
    }
  }

  const std::vector<LinkType>& links_;
  int preset_gpus_;
  base::Diagnostics& sink_;
};

}  // namespace

std::optional<int> read_link_name(base::MapReader& map, std::string_view key, const std::vector<LinkType>& links) {
  const auto name = map.text(key);
  if (!name || links.empty()) return std::nullopt;
  const auto at = std::ranges::find(links, *name, &LinkType::name);
  if (at != links.end()) return static_cast<int>(at - links.begin());
  std::vector<std::string> names;
  for (const auto& l : links) names.push_back(l.name);
  map.complain(key, fmt::format("no link is called \"{}\"", *name), base::suggest(*name, names));
  return std::nullopt;
}

NodeType read_node_type(const base::Yaml& node, const std::string& path, std::optional<int> count, const std::vector<LinkType>& links,
                        int preset_gpus, base::Diagnostics& sink) {
  return NodeReader(links, preset_gpus, sink).read(node, path, count);
}

}  // namespace topology
