#include "tests/oracles/published.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"

namespace rules {
namespace {

using base::MapReader;
using base::Yaml;

constexpr std::pair<std::string_view, PublishedKind> kTypes[] = {
    {"OP_PARTITION", PublishedKind::partition}, {"OP_COMBINE", PublishedKind::combine}, {"OP_REPLICATE", PublishedKind::replicate},
    {"OP_REDUCE", PublishedKind::reduce},       {"OP_LINEAR", PublishedKind::linear},   {"OP_RELU", PublishedKind::relu},
    {"OP_EW_ADD", PublishedKind::add},          {"OP_EW_MUL", PublishedKind::multiply}, {"OP_CONCAT", PublishedKind::concat},
    {"OP_SPLIT", PublishedKind::split}};

// A file of another kind may have a problem in each of millions of items; nobody reads on after so many.
constexpr std::size_t kMostPublishedProblems = 100;

struct PublishedReader {
  base::Diagnostics& sink;

  const std::vector<Yaml>& list(MapReader& r, std::string_view key) {
    static const std::vector<Yaml> none;
    const Yaml* y = r.required(key);
    if (y == nullptr) return none;
    if (!y->is_sequence()) sink.add(y->mark, r.path_of(key), "expected a list");
    return y->items;
  }

  PublishedRef tensor(const Yaml& y, const std::string& path, int ops_before) {
    MapReader r(y, path, sink);
    // "_t" is the name of the class that wrote the object; it says nothing more.
    (void)r.optional("_t");
    PublishedRef t;
    t.op = static_cast<int>(r.integer("opId", -6, ops_before - 1).value_or(0));
    t.output = static_cast<int>(r.integer("tsId", 0, 1).value_or(0));
    r.require("opId");
    r.finish();
    return t;
  }

  PublishedOp op(const Yaml& y, const std::string& path, int index) {
    MapReader r(y, path, sink);
    (void)r.optional("_t");
    PublishedOp o;
    const std::string type = r.text("type").value_or("");
    const auto known = std::ranges::find(kTypes, type, &std::pair<std::string_view, PublishedKind>::first);
    if (known != std::end(kTypes)) o.kind = known->second;
    else r.complain("type", fmt::format("\"{}\" is no operator of these files", type), "one of OP_LINEAR, OP_RELU, OP_PARTITION, ...");
    const std::vector<Yaml>& inputs = list(r, "input");
    for (std::size_t i = 0; i < inputs.size(); ++i) o.inputs.push_back(tensor(inputs[i], fmt::format("{}.input[{}]", path, i), index));
    const std::vector<Yaml>& para = list(r, "para");
    for (std::size_t i = 0; i < para.size(); ++i) parameter(para[i], fmt::format("{}.para[{}]", path, i), o);
    // The weight of a linear is its second input.
    const bool two = o.kind == PublishedKind::linear || o.kind == PublishedKind::add || o.kind == PublishedKind::multiply ||
                     o.kind == PublishedKind::concat;
    if (o.inputs.size() != (two ? 2U : 1U)) r.complain("input", fmt::format("{} inputs, expected {}", o.inputs.size(), two ? 2 : 1));
    r.finish();
    return o;
  }

  void parameter(const Yaml& y, const std::string& path, PublishedOp& o) {
    MapReader r(y, path, sink);
    (void)r.optional("_t");
    const std::string key = r.text("key").value_or("");
    const int value = static_cast<int>(r.integer("value").value_or(0));
    if (key == "PM_PARALLEL_DIM" || key == "PM_AXIS") {
      o.dim = value;
      if (value < 0 || value > 2) r.complain("value", fmt::format("dim {} of tensors that have three", value));
    }
    static constexpr Function kFunctions[] = {Function::none, Function::sigmoid, Function::relu, Function::tanh};  // FlexFlow's ActiMode
    if (key == "PM_ACTI") {
      if (value < 0 || value > 3) r.complain("value", fmt::format("{} is no activation", value), "0 none, 1 sigmoid, 2 relu, 3 tanh");
      else o.function = kFunctions[value];
    }
    r.finish();
  }

  PublishedSide side(MapReader& r, std::string_view key, const std::string& path) {
    PublishedSide s;
    const std::vector<Yaml>& ops = list(r, key);
    for (std::size_t i = 0; i < ops.size(); ++i) s.push_back(op(ops[i], fmt::format("{}.{}[{}]", path, key, i), static_cast<int>(i)));
    return s;
  }

  PublishedRule rule(const Yaml& y, const std::string& path) {
    MapReader r(y, path, sink);
    (void)r.optional("_t");
    PublishedRule rule;
    rule.name = r.text("name").value_or("");
    rule.source = side(r, "srcOp", path);
    rule.target = side(r, "dstOp", path);
    const std::vector<Yaml>& outputs = list(r, "mappedOutput");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      MapReader m(outputs[i], fmt::format("{}.mappedOutput[{}]", path, i), sink);
      (void)m.optional("_t");
      const auto id = [&](std::string_view key, std::size_t count) {
        m.require(key);
        return static_cast<int>(m.integer(key, -6, static_cast<std::int64_t>(count) - 1).value_or(0));
      };
      const PublishedRef from{id("srcOpId", rule.source.size()), id("srcTsId", 2)}, to{id("dstOpId", rule.target.size()), id("dstTsId", 2)};
      rule.outputs.emplace_back(from, to);
      m.finish();
    }
    if (rule.outputs.empty()) sink.add(y.mark, path, "a rule without outputs");
    r.finish();
    return rule;
  }
};

}  // namespace

std::vector<PublishedRule> read_published(const std::filesystem::path& file) {
  const Yaml root = base::read_yaml(file);
  base::Diagnostics sink;
  if (root.is_map() && root.find("rule") == nullptr)  // another kind of file has a problem in every line; one is enough
    sink.add(root.mark, "", "this is no published rule file: it has no \"rule\"",
             "as graph_subst_3_v2.json of FlexFlow; foreshard rules verify reads ours");
  sink.throw_if_any();
  MapReader r(root, "", sink);
  (void)r.optional("_t");
  PublishedReader reader{sink};
  std::vector<PublishedRule> rules;
  const std::vector<Yaml>& items = reader.list(r, "rule");
  for (std::size_t i = 0; i < items.size() && sink.size() < kMostPublishedProblems; ++i)
    rules.push_back(reader.rule(items[i], fmt::format("rule[{}]", i)));
  r.finish();
  sink.throw_if_any();
  return rules;
}

}  // namespace rules
