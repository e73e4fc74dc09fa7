#include "search/solve/operators/strategies.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/numbers.hpp"
#include "pcg/graph/pcg.hpp"

namespace search {
namespace {

// Every order of the axes that are above 1, as the strides of a view that covers the devices.
std::vector<pcg::MachineView> views_of(const pcg::Sharding& sharding, int start) {
  const std::vector<int> degrees = pcg::axes(sharding);
  std::vector<std::size_t> inner_first(degrees.size());
  std::iota(inner_first.begin(), inner_first.end(), 0);
  std::vector<pcg::MachineView> views;
  do {
    pcg::MachineView& view = views.emplace_back();
    view.start = base::DeviceId(static_cast<std::size_t>(start));
    view.strides.resize(degrees.size());
    int stride = 1;
    for (const std::size_t axis : inner_first) {
      view.strides[axis] = stride;
      stride *= degrees[axis];
    }
  } while (std::ranges::next_permutation(inner_first).found);
  return views;
}

class Enumeration {
 public:
  Enumeration(const pcg::GraphNode& node, std::span<const pcg::TensorShape> inputs, int most_cut)
      : space_(*node.space), inputs_(inputs), outputs_(node.outputs), most_cut_(most_cut), sharding_(pcg::unsharded(space_)) {}

  std::vector<Strategy> run(DeviceBlock block) {
    start_ = block.start;
    cut_from(0, 0, block.size);
    return std::move(found_);
  }

 private:
  // Loops before `loop` are decided; `left` devices are not used yet.
  void cut_from(std::size_t loop, int cut, int left) {
    if (loop == space_.loops.size()) {
      sharding_.copies = left;
      if (pcg::violation(space_, sharding_, inputs_, outputs_)) return;
      for (pcg::MachineView& view : views_of(sharding_, start_)) found_.push_back({sharding_, std::move(view)});
      return;
    }
    cut_from(loop + 1, cut, left);
    const pcg::Loop& l = space_.loops[loop];
    if (l.cut == pcg::Cut::none || cut == most_cut_) return;
    for (int degree = 2; degree <= left; ++degree) {
      if (left % degree != 0 || l.size % degree != 0 || l.size / degree < l.least) continue;
      sharding_.degrees[loop] = degree;
      cut_from(loop + 1, cut + 1, left / degree);
    }
    sharding_.degrees[loop] = 1;
  }

  const pcg::IterationSpace& space_;
  std::span<const pcg::TensorShape> inputs_, outputs_;
  int most_cut_, start_ = 0;
  pcg::Sharding sharding_;
  std::vector<Strategy> found_;
};

}  // namespace

std::vector<Strategy> strategies_of(const pcg::GraphNode& node, std::span<const pcg::TensorShape> inputs, DeviceBlock block, int most_cut) {
  return Enumeration(node, inputs, most_cut).run(block);
}

Strategy shifted(Strategy strategy, int devices) {
  const auto by = static_cast<std::size_t>(devices);
  strategy.view.start = base::DeviceId(strategy.view.start.value + by);
  for (base::DeviceId& d : strategy.view.devices) d = base::DeviceId(d.value + by);
  return strategy;
}

Attempt<std::vector<Strategy>> strategies_on_grid(const pcg::Graph& graph, const GridConfig& config, int devices, std::int64_t global_batch,
                                                  std::vector<int> block_stages) {
  const Attempt<Grid> grid = make_grid(config, devices, global_batch);
  if (!grid) return grid.refusal();
  block_stages.resize(graph.blocks().size(), 0);
  const Attempt<std::vector<Layout>> node_layouts = layouts(graph, *grid, block_stages);
  if (!node_layouts) return node_layouts.refusal();
  std::vector<Strategy> strategies;
  for (const Layout& layout : *node_layouts)
    strategies.push_back(layout.loops.empty() ? Strategy{} : Strategy{layout.sharding(*grid), layout.view(*grid, std::array{0, 0})});
  return strategies;
}

pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<Strategy>& strategies) {
  std::vector<pcg::Sharding> shardings = pcg::unsharded(graph);
  for (std::size_t n = 0; n < strategies.size(); ++n)
    if (!is_source(graph.nodes()[n])) shardings[n] = strategies[n].sharding;
  pcg::Plan plan;
  plan.model = problem.model_section;
  plan.training = problem.training;
  plan.gpus = problem.cluster.device_count();
  plan.pcg = pcg::parallelize(graph, shardings);
  plan.stage.assign(plan.pcg.nodes().size(), 0);
  std::size_t node = 0;  // parallelize() keeps the graph's operators in order
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    plan.mapping.emplace_back();
    if (n.parallel_operator() != nullptr) continue;
    if (n.computes()) plan.mapping.back() = strategies[node].view;
    ++node;
  }
  return plan;
}

std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& s) {
  std::vector<std::string> parts;
  for (std::size_t l = 0; l < s.degrees.size(); ++l)
    if (s.degrees[l] > 1) parts.push_back(fmt::format("{} {}", space.loops[l].name, s.degrees[l]));
  if (s.copies > 1) parts.push_back(fmt::format("copies {}", s.copies));
  if (s.sums > 1) parts.push_back(fmt::format("sums {}", s.sums) + (s.through >= 0 ? fmt::format(" of input {}", s.through) : ""));
  return parts.empty() ? "whole" : fmt::format("{}", fmt::join(parts, " x "));
}

std::string commonest_text(std::vector<std::pair<std::string, std::size_t>> count, std::string_view noun,
                           std::pair<std::string_view, std::string_view> others) {
  constexpr std::size_t kMostNamed = 4;
  std::ranges::stable_sort(count, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  std::vector<std::string> parts;
  for (const auto& [how, many] : std::span(count).first(std::min(count.size(), kMostNamed)))
    parts.push_back(fmt::format("{} {}", base::counted(static_cast<std::int64_t>(many), noun), how));
  if (const std::size_t left = count.size() - parts.size(); left > 0)
    parts.push_back(fmt::format("{} {}", left, left == 1 ? others.first : others.second));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string summary_of_cuts(const pcg::Plan& plan) {
  std::map<std::string, std::size_t> count;
  for (const pcg::PcgNode& n : plan.pcg.nodes())
    if (n.computes()) ++count[cut_text(*n.space, n.sharding)];
  return commonest_text({count.begin(), count.end()}, "operator", {"other cut", "other cuts"});
}

}  // namespace search
