#include "search/solve/layers/chain_costs.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "search/grid/stages.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

constexpr std::size_t kMostNamed = 4;  // strategies in a summary

// Layers without weight recompute nothing.
std::vector<LayerStrategy> strategies_of_layers(const pcg::Plan& plan, const LayerSplit& split, const ChainAnswer& answer,
                                                const std::vector<LayerStrategy>& strategies) {
  std::vector<LayerStrategy> of_layers;
  for (const std::uint32_t s : answer.strategies) of_layers.push_back(strategies[s]);
  std::vector<bool> weighty(of_layers.size(), false);
  for (std::size_t b = 0; b < split.of_block.size(); ++b)
    if (plan.pcg.blocks()[b].weighty) weighty[static_cast<std::size_t>(split.of_block[b])] = true;
  for (std::size_t layer = 0; layer < of_layers.size(); ++layer)
    of_layers[layer].is_recomputed = of_layers[layer].is_recomputed && weighty[layer];
  return of_layers;
}

std::string layered_summary(const pcg::Plan& plan, const std::vector<std::size_t>& begins, const std::vector<LayerStrategy>& of_layers,
                            int devices) {
  std::string text = fmt::format("{} micro-batch{}", plan.micro_batches, plan.micro_batches == 1 ? "" : "es");
  if (plan.stages > 1) {
    std::vector<std::size_t> layers;
    for (std::size_t s = 0; s < begins.size(); ++s)
      layers.push_back((s + 1 < begins.size() ? begins[s + 1] : of_layers.size()) - begins[s]);
    text = fmt::format("{} stages of {} GPU{} with {} layers, {}, {}", plan.stages, devices, devices == 1 ? "" : "s",
                       fmt::join(layers, " + "), text, pcg::name_of(plan.schedule));
  }
  if (plan.recompute == pcg::Recompute::selective) text += ", recompute selective";
  if (plan.zero > 0) text += fmt::format(", zero {}", plan.zero);
  std::vector<std::pair<std::string, std::size_t>> count;  // layers, by what they do
  for (const LayerStrategy& s : of_layers) {
    const std::string how = to_text(s);
    const auto at = std::ranges::find(count, how, &std::pair<std::string, std::size_t>::first);
    if (at == count.end()) count.emplace_back(how, 1);
    else ++at->second;
  }
  std::ranges::stable_sort(count, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  const bool says_something = devices > 1 || plan.recompute == pcg::Recompute::full;
  for (std::size_t i = 0; i < std::min(count.size(), kMostNamed) && says_something; ++i)
    text += fmt::format("{} {} layer{} {}", i == 0 ? ";" : ",", count[i].second, count[i].second == 1 ? "" : "s", count[i].first);
  if (count.size() > kMostNamed && says_something)
    text += fmt::format(", {} other strateg{}", count.size() - kMostNamed, count.size() == kMostNamed + 1 ? "y" : "ies");
  return text;
}

// Lists are left out where they would name all.
void share_and_recompute(const LayerSplit& split, const std::vector<LayerStrategy>& of_layers, const ChainSetting& setting,
                         pcg::Plan& plan) {
  std::vector<int> shared, recomputed;
  bool all_share = true, all_recompute = true;
  for (std::size_t b = 0; b < split.of_block.size(); ++b) {
    const LayerStrategy& s = of_layers[static_cast<std::size_t>(split.of_block[b])];
    if (s.shards > 1) shared.push_back(static_cast<int>(b));
    else all_share = all_share && s.cut.samples == 1;
    if (!plan.pcg.blocks()[b].weighty) continue;
    if (s.is_recomputed) recomputed.push_back(static_cast<int>(b));
    else all_recompute = false;
  }
  plan.zero = shared.empty() ? 0 : setting.zero;
  plan.memory.zero.accumulates = plan.zero == 2;
  plan.recompute = setting.selective ? pcg::Recompute::selective : recomputed.empty() ? pcg::Recompute::none : pcg::Recompute::full;
  if (!all_share) plan.memory.zero.blocks = std::move(shared);
  if (!all_recompute && plan.recompute == pcg::Recompute::full) plan.memory.recomputed.only = std::move(recomputed);
}

}  // namespace

pcg::Plan layered_plan(const Problem& problem, const ChainSetting& setting, int micro_batches, const ChainAnswer& answer) {
  const pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch / micro_batches);
  const LayerSplit split = split_into_layers(graph.blocks());
  const int devices = problem.cluster.device_count() / setting.stages;
  const std::vector<LayerStrategy> strategies = layer_strategies(devices);
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
  const std::vector<LayerStrategy> of_layers = strategies_of_layers(plan, split, answer, strategies);
  share_and_recompute(split, of_layers, setting, plan);
  plan.summary = layered_summary(plan, answer.begins, of_layers, devices);
  const auto wrong = pcg::violations(plan);
  BASE_CHECK(wrong.empty(), "{}: {}", plan.summary, wrong.front());
  return plan;
}

}  // namespace search
