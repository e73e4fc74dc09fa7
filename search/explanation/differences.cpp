#include "search/explanation/explanation.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "pcg/graph/pcg.hpp"
#include "pcg/resizing/resize.hpp"
#include "search/grid/grid.hpp"
#include "search/grid/layout.hpp"
#include "search/solve/operators/operator_catalog.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

// How data parallelism cuts each node of the graph.
Attempt<std::vector<pcg::Sharding>> replicas_of(const pcg::Graph& micro_batch, const pcg::Plan& plan) {
  const Attempt<Grid> grid = make_grid({}, plan.gpus, plan.training.global_batch);
  if (!grid) return grid.refusal();
  try {
    const pcg::Graph graph = pcg::with_batch(micro_batch, plan.training.global_batch);
    const Attempt<std::vector<Layout>> found = layouts(graph, *grid, std::vector<int>(graph.blocks().size(), 0));
    if (!found) return found.refusal();
    return shardings(graph, *grid, *found);
  } catch (const pcg::ShapeError& e) { return Refusal{Constraint::batch, e.what()}; }
}

// Names of the operators that a graph and the model have in common.
std::set<std::string_view> common_names(const pcg::Graph& graph, const pcg::Graph& model) {
  std::map<std::string_view, const pcg::GraphNode*> by_name;
  for (const pcg::GraphNode& n : model.nodes()) by_name.emplace(n.name, &n);
  std::set<std::string_view> common;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
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

// Groups operators in the order of the graph.
class Groups {
 public:
  void add(AlikeOperators o) {
    const auto same = std::ranges::find_if(groups_, [&](const AlikeOperators& g) {
      return g.kind == o.kind && g.cut == o.cut && g.devices == o.devices && g.is_new == o.is_new && g.is_reordered == o.is_reordered;
    });
    AlikeOperators& group = same == groups_.end() ? groups_.emplace_back(std::move(o)) : *same;
    ++group.count;
  }
  [[nodiscard]] std::vector<AlikeOperators> most_first() && {
    std::ranges::stable_sort(groups_, std::greater<>(), &AlikeOperators::count);
    return std::move(groups_);
  }

 private:
  std::vector<AlikeOperators> groups_;
};

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
  const Attempt<std::vector<pcg::Sharding>> replicas = replicas_of(graph, plan);
  if (!replicas) d.why_no_replicas = replicas.refusal().why;
  std::map<std::string_view, const pcg::Sharding*> replica;
  for (std::size_t n = 0; replicas && n < graph.nodes().size(); ++n) replica[graph.nodes()[n].name] = &(*replicas)[n];
  std::vector<base::DeviceId> all;
  for (int g = 0; g < plan.gpus; ++g) all.emplace_back(static_cast<std::uint32_t>(g));

  Groups others;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes()) continue;
    ++d.operators;
    std::vector<base::DeviceId> devices = pcg::devices_of(plan.mapping[n], node.sharding);
    const auto there = replica.find(node.name);
    const bool is_cut_alike = there != replica.end() && *there->second == node.sharding;
    const bool is_new = model != nullptr && !common.contains(node.name), is_in_order = devices == all;
    if (is_cut_alike && is_in_order && !is_new) {
      ++d.alike;
      continue;
    }
    std::ranges::sort(devices);
    const auto repeated = std::ranges::unique(devices);
    devices.erase(repeated.begin(), repeated.end());
    const bool is_reordered = is_cut_alike && !is_in_order && devices == all;
    others.add({.kind = std::string(pcg::kind_name(*node.operation())),
                .cut = cut_text(*node.space, node.sharding),
                .devices = std::move(devices),
                .is_new = is_new,
                .is_reordered = is_reordered,
                .first = node.name});
  }
  d.others = std::move(others).most_first();
  return d;
}

}  // namespace search
