#include "search/explanation/explanation.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/yaml/parse.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan_text.hpp"
#include "pcg/resizing/resize.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

// How data parallelism cuts each node of the graph.
Attempt<std::vector<Strategy>> replicas_of(const pcg::Graph& micro_batch, const pcg::Plan& plan) {
  if (const Attempt<Grid> grid = make_grid({}, plan.gpus, plan.training.global_batch); !grid) return grid.refusal();
  try {
    return strategies_on_grid(pcg::with_batch(micro_batch, plan.training.global_batch), {}, plan.gpus, plan.training.global_batch);
  } catch (const pcg::ShapeError& e) { return Refusal{Constraint::batch, e.what()}; }
}

// Names of the operators that a graph and the model have in common.
std::set<std::string_view> common_names(const pcg::Graph& graph, const pcg::Graph& model) {
  std::map<std::string_view, const pcg::GraphNode*> by_name;
  for (const pcg::GraphNode& n : model.nodes()) by_name.emplace(n.name, &n);
  std::set<std::string_view> common;
  for (const pcg::GraphNode& node : graph.nodes()) {
    const auto at = by_name.find(node.name);
    if (at == by_name.end()) continue;
    const pcg::GraphNode& other = *at->second;
    const auto shape_in = [](const pcg::Graph& g) { return [&g](pcg::GraphTensorRef t) { return g.shape(t); }; };
    if (node.op == other.op && node.outputs == other.outputs &&
        std::ranges::equal(node.inputs, other.inputs, {}, shape_in(graph), shape_in(model)))
      common.insert(node.name);
  }
  return common;
}

std::vector<std::pair<std::string, std::size_t>> gone_from(const pcg::Graph& model, const std::set<std::string_view>& common) {
  std::map<std::string, std::size_t> count;
  for (const pcg::GraphNode& n : model.nodes())
    if (!is_source(n) && !common.contains(n.name)) ++count[std::string(kind_name(n.op))];
  return {count.begin(), count.end()};
}

bool is_like(const AlikeOperators& a, const AlikeOperators& b) {
  return std::tie(a.kind, a.cut, a.devices, a.is_new, a.is_reordered) == std::tie(b.kind, b.cut, b.devices, b.is_new, b.is_reordered);
}

bool is_like(const OperatorDifference& a, const OperatorDifference& b) {
  return std::tie(a.kind, a.first, a.second, a.is_reordered) == std::tie(b.kind, b.first, b.second, b.is_reordered);
}

// To the group of those that are like it, or to one of its own.
template <class Group>
void add_to(std::vector<Group>& groups, Group o) {
  const auto same = std::ranges::find_if(groups, [&](const Group& g) { return is_like(g, o); });
  Group& group = same == groups.end() ? groups.emplace_back(std::move(o)) : *same;
  ++group.count;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

Settings settings_of(const base::Yaml& map, const std::string& before = {}) {
  Settings out;
  for (const base::Yaml::Entry& e : map.entries)
    if (e.value.is_map()) std::ranges::move(settings_of(e.value, before + e.key + "."), std::back_inserter(out));
    else out.emplace_back(before + e.key, e.value.is_scalar() ? e.value.scalar : base::flow_text(e.value));
  return out;
}

std::optional<std::string> value_of(const Settings& settings, const std::string& key) {
  const auto at = std::ranges::find(settings, key, &Settings::value_type::first);
  return at == settings.end() ? std::nullopt : std::optional(at->second);
}

std::vector<SettingDifference> settings_differ(const pcg::Plan& first, const pcg::Plan& second) {
  const Settings a = settings_of(pcg::plan_settings(first)), b = settings_of(pcg::plan_settings(second));
  std::vector<SettingDifference> apart;
  for (const auto& [key, value] : a)
    if (auto other = value_of(b, key); other != value) apart.push_back({key, value, std::move(other)});
  for (const auto& [key, value] : b)
    if (!value_of(a, key)) apart.push_back({key, std::nullopt, value});
  return apart;
}

// An operator of a plan, with its devices in the order of its shards.
struct Operator {
  const pcg::PcgNode* node = nullptr;
  std::vector<base::DeviceId> devices;

  [[nodiscard]] std::string kind() const { return std::string(pcg::kind_name(*node->operation())); }
  [[nodiscard]] PlacedCut placed() const {
    const std::set<base::DeviceId> each(devices.begin(), devices.end());
    return {cut_text(*node->space, node->sharding), {each.begin(), each.end()}};
  }
};

std::vector<Operator> operators_of(const pcg::Plan& plan) {
  std::vector<Operator> all;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n)
    if (const pcg::PcgNode& node = plan.pcg.nodes()[n]; node.computes())
      all.push_back({&node, pcg::devices_of(plan.mapping[n], node.sharding)});
  return all;
}

}  // namespace

Differences differences(const pcg::Plan& plan, const pcg::Graph* model) {
  const pcg::Graph graph = pcg::serial(plan.pcg);
  std::set<std::string_view> common;
  Differences d;
  if (model != nullptr) {
    const pcg::Graph wanted = pcg::padded(pcg::with_batch(*model, graph.batch()), plan.padding);
    common = common_names(graph, wanted);
    d.gone = gone_from(wanted, common);
  }
  const Attempt<std::vector<Strategy>> replicas = replicas_of(graph, plan);
  if (!replicas) d.why_no_replicas = replicas.refusal().why;
  std::map<std::string_view, const pcg::Sharding*> replica;
  for (std::size_t n = 0; replicas && n < graph.nodes().size(); ++n) replica[graph.nodes()[n].name] = &(*replicas)[n].sharding;
  std::vector<base::DeviceId> all;
  for (int g = 0; g < plan.gpus; ++g) all.emplace_back(static_cast<std::uint32_t>(g));

  for (const Operator& o : operators_of(plan)) {
    ++d.operators;
    const std::string& name = o.node->name;
    const auto there = replica.find(name);
    const bool is_cut_alike = there != replica.end() && *there->second == o.node->sharding;
    const bool is_new = model != nullptr && !common.contains(name), is_in_order = o.devices == all;
    if (is_cut_alike && is_in_order && !is_new) {
      ++d.alike;
      continue;
    }
    PlacedCut placed = o.placed();
    const bool is_reordered = is_cut_alike && !is_in_order && placed.devices == all;
    add_to(d.others, {.kind = o.kind(),
                      .cut = std::move(placed.cut),
                      .devices = std::move(placed.devices),
                      .is_new = is_new,
                      .is_reordered = is_reordered,
                      .first = name});
  }
  std::ranges::stable_sort(d.others, std::greater<>(), &AlikeOperators::count);
  return d;
}

bool are_of_one_model(const pcg::Plan& first, const pcg::Plan& second) {
  return base::emit_yaml(first.model) == base::emit_yaml(second.model);
}

PlanComparison compare_plans(const pcg::Plan& first, const pcg::Plan& second) {
  PlanComparison c{.settings = settings_differ(first, second)};
  const std::vector<Operator> mine = operators_of(first), others = operators_of(second);
  std::map<std::pair<std::string_view, std::string>, const Operator*> left;  // of the second plan, by name and kind
  for (const Operator& o : others) left.emplace(std::pair(std::string_view(o.node->name), o.kind()), &o);
  for (const Operator& o : mine) {
    const auto at = left.find({o.node->name, o.kind()});
    if (at == left.end()) {
      add_to(c.others, {.kind = o.kind(), .first = o.placed(), .second = {}, .name = o.node->name});
      continue;
    }
    const Operator& other = *at->second;
    left.erase(at);
    if (o.node->sharding == other.node->sharding && o.devices == other.devices) {
      ++c.alike;
      continue;
    }
    PlacedCut a = o.placed(), b = other.placed();
    const bool is_reordered = a == b;
    add_to(c.others, {.kind = o.kind(), .first = std::move(a), .second = std::move(b), .is_reordered = is_reordered, .name = o.node->name});
  }
  c.operators = mine.size() + left.size();
  for (const Operator& o : others)
    if (left.contains({o.node->name, o.kind()}))
      add_to(c.others, {.kind = o.kind(), .first = {}, .second = o.placed(), .name = o.node->name});
  std::ranges::stable_sort(c.others, std::greater<>(), &OperatorDifference::count);
  return c;
}

}  // namespace search
