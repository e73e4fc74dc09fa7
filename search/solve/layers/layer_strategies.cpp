#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/divisors.hpp"
#include "search/grid/repeated_layers.hpp"
#include "search/grid/stages.hpp"
#include "search/solve/layers/chain_costs.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

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
  if (devices > 1 || plan.recompute == pcg::Recompute::full)
    text += "; " + commonest_text(std::move(count), "layer", {"other strategy", "other strategies"});
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

LayerSplit split_into_layers(std::span<const pcg::Block> blocks) {
  LayerSplit split;
  const auto first = std::ranges::find_if(blocks, &pcg::Block::weighty) - blocks.begin();
  std::ptrdiff_t head = std::ssize(blocks);  // the first block of the head
  while (head > first && !blocks[static_cast<std::size_t>(head - 1)].weighty) --head;
  int layer = 0;
  for (std::ptrdiff_t b = 0; b < std::ssize(blocks); ++b) {
    if (b > 0 && (blocks[static_cast<std::size_t>(b)].weighty || b == head)) ++layer;
    split.of_block.push_back(layer);
  }
  split.layers = layer + 1;
  return split;
}

ShortModel short_model(const pcg::Graph& model) {
  constexpr std::size_t kKept = 2;
  const RepeatedLayers run = repeated_layers(model);
  const std::size_t kept = std::min(kKept, run.count);
  ShortModel s;
  s.graph = run.count > kKept ? with_layers(model, run, kept) : model;
  s.split = split_into_layers(s.graph.blocks());
  const LayerSplit all = split_into_layers(model.blocks());
  s.layer_like.assign(static_cast<std::size_t>(all.layers), 0);
  for (std::size_t b = model.blocks().size(); b-- > 0;) {
    std::size_t counterpart = b;
    if (run.count > kKept && b >= run.first + run.unit)
      counterpart = b < run.first + run.blocks() ? run.first + run.unit + (b - run.first) % run.unit : b - (run.count - kept) * run.unit;
    s.layer_like[static_cast<std::size_t>(all.of_block[b])] = static_cast<std::size_t>(s.split.of_block[counterpart]);
  }
  return s;
}

std::vector<LayerCut> layer_cuts(int devices) {
  std::vector<LayerCut> all;
  for (const std::int64_t divisor : base::divisors(devices)) {
    const auto tensor = static_cast<int>(divisor);
    const int samples = devices / tensor;
    all.push_back({samples, tensor, true});
    if (samples > 1 && tensor > 1) all.push_back({samples, tensor, false});
  }
  return all;
}

std::vector<LayerStrategy> layer_strategies(int devices) {
  std::vector<LayerStrategy> all;
  const std::vector<LayerCut> cuts = layer_cuts(devices);
  for (const bool is_recomputed : {false, true})
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      all.push_back({cuts[c], c, 1, is_recomputed});
      if (cuts[c].samples > 1) all.push_back({cuts[c], c, cuts[c].samples, is_recomputed});
    }
  return all;
}

std::optional<std::vector<Strategy>> operators_of_cut(const pcg::Graph& graph, const LayerSplit& split, const LayerCut& cut) {
  const std::int64_t batch = graph.batch();
  if (batch % cut.samples != 0) return std::nullopt;
  Attempt<std::vector<Strategy>> strategies =
      strategies_on_grid(graph, {.tensor = cut.tensor, .data = cut.samples, .micro_batch = batch / cut.samples}, cut.samples * cut.tensor,
                         batch, split.of_block);
  if (!strategies) return std::nullopt;
  for (Strategy& s : *strategies) {
    if (cut.tensor_is_inside || s.sharding.degrees.empty()) continue;
    std::vector<base::DeviceId> turned;
    for (const base::DeviceId d : pcg::devices_of(s.view, s.sharding)) {
      const int device = static_cast<int>(d.value);
      turned.emplace_back(static_cast<std::size_t>(device % cut.tensor * cut.samples + device / cut.tensor));
    }
    s.view = pcg::compact({.devices = std::move(turned)}, s.sharding);
  }
  return std::move(strategies).value();
}

std::string to_text(const LayerStrategy& s) {
  std::string text;
  const auto part = [&](const char* name, int degree) {
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, degree);
  };
  part("data", s.cut.samples / s.shards);
  part("shards", s.shards);
  part("tensor", s.cut.tensor);
  if (text.empty()) text = "one device";
  if (!s.cut.tensor_is_inside) text += " (data inside)";
  return s.is_recomputed ? text + ", recomputed" : text;
}

pcg::Plan layered_plan(const Problem& problem, const ChainSetting& setting, int micro_batches, const ChainAnswer& answer) {
  const pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch / micro_batches);
  const LayerSplit split = split_into_layers(graph.blocks());
  const int devices = problem.cluster.device_count() / setting.stages;
  const std::vector<LayerStrategy> strategies = layer_strategies(devices);
  std::map<std::uint32_t, std::vector<Strategy>> cuts;  // by strategy
  for (const std::uint32_t s : answer.strategies)
    if (!cuts.contains(s)) cuts.emplace(s, operators_of_cut(graph, split, strategies[s].cut).value());

  std::vector<Strategy> operators(graph.nodes().size());
  std::vector<int> stage_of;
  for (std::size_t n = 0; n < operators.size(); ++n) {
    const auto layer = static_cast<std::size_t>(split.of_block[static_cast<std::size_t>(graph.nodes()[n].block)]);
    stage_of.push_back(static_cast<int>(std::ranges::upper_bound(answer.begins, layer) - answer.begins.begin()) - 1);
    operators[n] = shifted(cuts.at(answer.strategies[layer])[n], stage_of[n] * devices);
  }
  pcg::Plan plan = plan_of_strategies(problem, graph, operators);
  plan.stage = stages_around_operators(plan.pcg, stage_of);
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
