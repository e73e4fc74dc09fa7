#include "search/chains/layered_plan.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "search/grid/stages.hpp"
#include "search/operators/strategy_plan.hpp"

namespace search {
namespace {

constexpr std::size_t kMostNamed = 4;  // strategies in a summary

std::string layered_summary(const pcg::Plan& plan, const ChainAnswer& answer, const std::vector<LayerStrategy>& strategies, int devices) {
  std::string text = fmt::format("{} micro-batch{}", plan.micro_batches, plan.micro_batches == 1 ? "" : "es");
  if (plan.stages > 1) {
    std::vector<std::size_t> layers;
    for (std::size_t s = 0; s < answer.begins.size(); ++s)
      layers.push_back((s + 1 < answer.begins.size() ? answer.begins[s + 1] : answer.strategies.size()) - answer.begins[s]);
    text = fmt::format("{} stages of {} GPU{} with {} layers, {}, {}", plan.stages, devices, devices == 1 ? "" : "s",
                       fmt::join(layers, " + "), text, pcg::schedule_names()[static_cast<std::size_t>(plan.schedule)]);
  }
  std::vector<std::pair<std::ptrdiff_t, std::uint32_t>> count;
  for (std::uint32_t s = 0; s < strategies.size(); ++s)
    if (const auto layers = std::ranges::count(answer.strategies, s); layers > 0) count.emplace_back(layers, s);
  std::ranges::stable_sort(count, std::greater<>(), &std::pair<std::ptrdiff_t, std::uint32_t>::first);
  for (std::size_t i = 0; i < std::min(count.size(), kMostNamed) && devices > 1; ++i)
    text += fmt::format("{} {} layer{} {}", i == 0 ? ";" : ",", count[i].first, count[i].first == 1 ? "" : "s",
                        to_text(strategies[count[i].second]));
  if (count.size() > kMostNamed) text += fmt::format(", {} other strategies", count.size() - kMostNamed);
  return text;
}

}  // namespace

pcg::Plan layered_plan(const Problem& problem, const ChainSetting& setting, int micro_batches, const ChainAnswer& answer) {
  const pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch / micro_batches);
  const LayerSplit split = split_into_layers(graph.blocks());
  const int devices = problem.cluster.device_count() / setting.stages;
  const std::vector<LayerStrategy> strategies = layer_strategies(devices, setting.sharing);
  std::map<std::uint32_t, std::vector<Strategy>> cuts;  // by strategy
  for (const std::uint32_t s : answer.strategies)
    if (!cuts.contains(s)) cuts.emplace(s, operators_of_cut(graph, split, strategies[s].cut).value());

  std::vector<Strategy> operators(graph.nodes().size());
  std::vector<const Strategy*> choice(operators.size(), nullptr);
  std::vector<int> stage_of;
  for (std::size_t n = 0; n < operators.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    const auto layer = static_cast<std::size_t>(split.of_block[static_cast<std::size_t>(node.block)]);
    stage_of.push_back(static_cast<int>(std::ranges::upper_bound(answer.begins, layer) - answer.begins.begin()) - 1);
    if (is_source(node)) continue;
    operators[n] = on_block(cuts.at(answer.strategies[layer])[n], {stage_of[n] * devices, devices});
    choice[n] = &operators[n];
  }
  pcg::Plan plan = plan_of_strategies(problem, graph, choice);
  std::vector<int> stage;
  std::size_t node = 0;  // of the graph, whose operators stay in order
  for (const pcg::PcgNode& n : plan.pcg.nodes()) stage.push_back(n.parallel_operator() != nullptr ? 0 : stage_of[node++]);
  plan.stage = stages_around_operators(plan.pcg, std::move(stage));
  plan.stages = setting.stages;
  plan.micro_batches = micro_batches;
  plan.schedule = setting.stages > 1 ? setting.schedule : pcg::ScheduleKind::one_f_one_b;
  const bool is_shared = std::ranges::any_of(answer.strategies, [&](std::uint32_t s) { return strategies[s].shards > 1; });
  plan.zero = is_shared ? 3 : 0;
  plan.summary = layered_summary(plan, answer, strategies, devices);
  const auto wrong = pcg::violations(plan);
  BASE_CHECK(wrong.empty(), "{}: {}", plan.summary, wrong.front());
  return plan;
}

}  // namespace search
