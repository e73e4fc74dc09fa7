#include "search/grid/stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/check.hpp"
#include "pcg/plan/recomputed_units.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "sim/kernels/cost_table.hpp"

namespace search {
namespace {

bool shrinks(const pcg::ParallelOperator& op) {
  return std::holds_alternative<pcg::Reduce>(op) || std::holds_alternative<pcg::Discard>(op) || std::holds_alternative<pcg::Partition>(op);
}

// Whether a tensor comes straight from a weight or the data, which lie where they are read.
std::vector<bool> from_sources(const pcg::Pcg& pcg) {
  std::vector<bool> result;
  for (const pcg::PcgNode& n : pcg.nodes())
    result.push_back(n.is_source() || (n.parallel_operator() != nullptr && result[n.inputs[0].node.value]));
  return result;
}

// The stages of operators, with those of sources and of movements between operators filled in.
std::vector<int> with_movements(const pcg::Pcg& pcg, std::vector<int> stage) {
  const std::size_t count = pcg.nodes().size();
  const auto consumers = pcg.consumers();
  const std::vector<bool> sources = from_sources(pcg);
  const auto first_reader = [&](std::size_t n) {
    int first = std::numeric_limits<int>::max();
    for (pcg::NodeId c : consumers[n]) first = std::min(first, stage[c.value]);
    return consumers[n].empty() ? stage[n] : first;
  };
  // Backwards, readers are known: growing movements and sources go to their first reader. Forwards, the rest stays with its producer.
  for (std::size_t n = count; n-- > 0;)
    if (sources[n] || pcg.nodes()[n].parallel_operator() != nullptr) stage[n] = first_reader(n);
  for (std::size_t n = 0; n < count; ++n)
    if (const auto* m = pcg.nodes()[n].parallel_operator(); m != nullptr && !sources[n] && shrinks(*m))
      stage[n] = stage[pcg.nodes()[n].inputs[0].node.value];
  return stage;
}

class LayerCosts {
 public:
  LayerCosts(const pcg::Plan& plan, const sim::FlowGraph& flow, const sim::Oracle& oracle)
      : plan_(plan),
        flow_(flow),
        costs_(plan, flow, oracle.cluster(), oracle.framework(plan.training)),
        stops_early_(oracle.framework(plan.training).stops_recomputation_early) {}

  // Seconds of each layer on each device type in use.
  std::vector<std::vector<double>> run(std::span<const int> layer_of_block) {
    const auto layers = static_cast<std::size_t>(std::ranges::max(layer_of_block)) + 1;
    std::vector<std::vector<double>> sums(layers, std::vector<double>(costs_.device_types().size(), 0));
    note_recomputed();
    for (std::uint32_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      if (!plan_.pcg.nodes()[n].computes()) continue;
      sums_ = &sums[static_cast<std::size_t>(layer_of_block[static_cast<std::size_t>(plan_.pcg.nodes()[n].block)])];
      add_node(n);
    }
    return sums;
  }

 private:
  void add_node(std::uint32_t n) {
    add(costs_.forward(n));
    if (!flow_.needs_gradient[n]) return;
    if (recomputes(n)) add(costs_.forward(n));
    add(costs_.accumulation(n));
    add(costs_.input_gradient(n));
    add(costs_.weight_gradient(n));
    if (plan_.micro_batches > 1) add(costs_.gradient_buffer(n));
  }
  // Which layers are the first of a stage is not known yet: where something is recomputed in those alone, none counts.
  void note_recomputed() {
    if (plan_.memory.recomputed.blocks > 0) return;
    std::vector<std::uint32_t> all(plan_.pcg.nodes().size());
    std::iota(all.begin(), all.end(), 0U);
    for (const pcg::RecomputedUnit& unit : pcg::recomputed_units(plan_, plan_.recompute, all)) {
      const auto again = pcg::run_again(plan_, unit, stops_early_);
      recomputed_.insert(again.begin(), again.end());
    }
  }
  [[nodiscard]] bool recomputes(std::uint32_t n) const {
    if (recomputed_.contains(n)) return true;
    const auto* attention = std::get_if<pcg::Attention>(plan_.pcg.nodes()[n].operation());
    return plan_.recompute == pcg::Recompute::selective && attention != nullptr && !attention->flash;
  }
  void add(const sim::Cost& cost) {
    for (std::size_t type = 0; type < cost.on_type.size(); ++type) (*sums_)[type] += cost.on_type[type].device.value();
  }

  const pcg::Plan& plan_;
  const sim::FlowGraph& flow_;
  sim::CostTable costs_;
  bool stops_early_;
  std::set<std::uint32_t> recomputed_;
  std::vector<double>* sums_ = nullptr;  // of the node's layer
};

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // sums of seconds that differ by less are equal: some thousand additions round by less

// The best splits of the first layers among the first stages.
class Balancer {
 public:
  Balancer(std::span<const std::vector<double>> seconds, int stages) : stages_(static_cast<std::size_t>(stages)) {
    for (const std::vector<double>& of_rank : seconds) {
      std::vector<double>& sums = until_.emplace_back(1, 0.0);
      for (const double s : of_rank) sums.push_back(sums.back() + s);
    }
    layers_ = until_.front().size() - 1;
  }

  std::vector<int> run() {
    // First how quick the slowest stage can be, then the most even of the splits that keep to it.
    solve(kInfinite, [](double before, double stage) { return std::max(before, stage); });
    const double slowest = value_.back().back();
    solve(slowest * (1 + kRounding), [](double before, double stage) { return before + stage * stage; });
    std::vector<int> split(stages_);
    std::size_t end = layers_;
    for (std::size_t s = stages_; s-- > 0; end = begin_[s + 1][end]) split[s] = static_cast<int>(end - begin_[s + 1][end]);
    return split;
  }

 private:
  // value_[s][n]: the least that `join` makes of the first s stages over the first n layers, none of them above `limit`; begin_[s][n]:
  // where the last of these stages begins.
  template <class Join>
  void solve(double limit, Join join) {
    value_.assign(stages_ + 1, std::vector<double>(layers_ + 1, kInfinite));
    begin_.assign(stages_ + 1, std::vector<std::size_t>(layers_ + 1, 0));
    value_[0][0] = 0;
    for (std::size_t s = 1; s <= stages_; ++s)
      for (std::size_t n = s; n + (stages_ - s) <= layers_; ++n) extend(s, n, limit, join);
  }

  template <class Join>
  void extend(std::size_t s, std::size_t n, double limit, Join join) {
    const std::vector<double>& until = until_[(s - 1) % until_.size()];
    double& best = value_[s][n];
    // The last stage grows backwards: once it alone is as bad as what was found, more layers make it worse.
    for (std::size_t first = n; first-- >= s;) {
      const double stage = until[n] - until[first];
      if (stage > limit || join(0, stage) >= best) break;
      const double value = join(value_[s - 1][first], stage);
      if (value >= best * (1 - kRounding)) continue;
      best = value;
      begin_[s][n] = first;
    }
  }

  std::size_t stages_, layers_ = 0;
  std::vector<std::vector<double>> until_;  // [rank][n]: seconds of the first n layers
  std::vector<std::vector<double>> value_;
  std::vector<std::vector<std::size_t>> begin_;
};

}  // namespace

std::vector<int> layers_of_blocks(std::span<const pcg::Block> blocks) {
  std::vector<int> layers;
  int seen = 0;
  for (const pcg::Block& b : blocks) {
    if (b.weighty) ++seen;
    layers.push_back(std::max(0, seen - 1));
  }
  return layers;
}

std::vector<int> stages_of_blocks(std::span<const pcg::Block> blocks, std::span<const int> layers_per_stage) {
  std::vector<int> stage_of_layer;
  for (std::size_t s = 0; s < layers_per_stage.size(); ++s)
    stage_of_layer.insert(stage_of_layer.end(), static_cast<std::size_t>(layers_per_stage[s]), static_cast<int>(s));
  if (stage_of_layer.empty()) stage_of_layer.push_back(0);
  std::vector<int> stages;
  for (const int layer : layers_of_blocks(blocks)) stages.push_back(stage_of_layer.at(static_cast<std::size_t>(layer)));
  const BareEnds ends = may_be_bare(blocks);
  const auto is_bare = [&](std::size_t stage) { return layers_per_stage.size() > 1 && layers_per_stage[stage] == 0; };
  if (ends.first && is_bare(0))
    for (std::size_t b = 0; !blocks[b].weighty; ++b) stages[b] = 0;
  if (ends.last && is_bare(layers_per_stage.size() - 1))
    for (std::size_t b = blocks.size(); !blocks[b - 1].weighty; --b) stages[b - 1] = static_cast<int>(layers_per_stage.size()) - 1;
  return stages;
}

BareEnds may_be_bare(std::span<const pcg::Block> blocks) {
  const bool layers = std::ranges::any_of(blocks, &pcg::Block::weighty);
  return {layers && !blocks.front().weighty, layers && !blocks.back().weighty};
}

std::vector<int> stages_of_nodes(const pcg::Pcg& pcg, const std::vector<int>& block_stages) {
  std::vector<int> stage;
  for (const pcg::PcgNode& n : pcg.nodes()) stage.push_back(block_stages[static_cast<std::size_t>(n.block)]);
  return with_movements(pcg, std::move(stage));
}

std::vector<int> stages_around_operators(const pcg::Pcg& pcg, const std::vector<int>& stage_of) {
  std::vector<int> stage;
  std::size_t node = 0;  // parallelize() keeps the graph's nodes in order
  for (const pcg::PcgNode& n : pcg.nodes()) stage.push_back(n.parallel_operator() != nullptr ? 0 : stage_of[node++]);
  return with_movements(pcg, std::move(stage));
}

std::vector<double> layer_costs(const pcg::Plan& plan, std::span<const int> layer_of_block, const sim::Oracle& oracle) {
  const sim::FlowGraph flow = sim::flow_graph(plan);
  std::vector<double> slowest;
  for (const std::vector<double>& by_type : LayerCosts(plan, flow, oracle).run(layer_of_block))
    slowest.push_back(std::ranges::max(by_type));
  return slowest;
}

std::vector<int> balanced_layers(std::span<const std::vector<double>> seconds, int stages) {
  BASE_CHECK(stages >= 1 && !seconds.empty() && seconds.front().size() >= static_cast<std::size_t>(stages), "{} stages of {} ranks", stages,
             seconds.size());
  return Balancer(seconds, stages).run();
}

std::string layers_text(std::span<const int> layers_per_stage) {
  std::string text;
  for (auto at = layers_per_stage.begin(); at != layers_per_stage.end();) {
    const auto next = std::find_if(at, layers_per_stage.end(), [&](int n) { return n != *at; });
    if (!text.empty()) text += " + ";
    text += next - at > 1 ? fmt::format("{} x {}", next - at, *at) : fmt::format("{}", *at);
    at = next;
  }
  return text;
}

}  // namespace search
