#include "search/planners/megatron/plan_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace search {
namespace {

std::int64_t micro_batches(const GridConfig& c, std::int64_t global_batch) { return global_batch / c.data / c.micro_batch; }

}  // namespace

PlanBounds::PlanBounds(const Problem& problem, std::span<const pcg::Recompute> recomputations)
    : problem_(problem), sketcher_(problem, recomputations) {}

const Attempt<LayerSketch>& PlanBounds::sketch(const GridConfig& c) {
  const Cut cut = cut_of(c);
  auto at = sketches_.find(cut);
  // Experts take of data what context does not give.
  if (at == sketches_.end()) at = sketches_.emplace(cut, sketcher_.sketch(c, c.expert / std::gcd(c.expert, c.context))).first;
  return at->second;
}

const Refusal* PlanBounds::refusal(const GridConfig& cut) {
  const Attempt<LayerSketch>& s = sketch(cut);
  return s ? nullptr : &s.refusal();
}

PlanBound PlanBounds::bound(const GridConfig& c) {
  const LayerSketch& s = *sketch(c);
  const PassSketch& pass = s.passes.at(c.recompute);
  // The first stage of 1F1B keeps as many micro-batches as there are stages; interleaved schedules keep more.
  const double kept = static_cast<double>(std::min<std::int64_t>(micro_batches(c, problem_.training.global_batch), c.pipeline));
  return {seconds(c, s, pass), bytes(c, s, pass, kept * layers() / c.pipeline)};
}

bool PlanBounds::has_equal_stages(const GridConfig& c) const {
  const auto weighty = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);
  return c.pipeline == 1 || (!c.balanced_stages && weighty % (c.pipeline * c.chunks) == 0);
}

std::vector<PlanBounds::Rank> PlanBounds::even_ranks(const GridConfig& c, const PassSketch& pass) const {
  const double all = pass.times.seconds.of(layers());
  if (all == 0) return {{0, 0}};
  if (has_equal_stages(c)) return {{1.0 / c.pipeline, (1 - 1.0 / c.pipeline) / c.chunks}};
  // Rank r needs its share x_r of all micro-batches' seconds, and before it the first one passes what lies before: the embedding, and at
  // least a layer for each stage but the first. As the shares add up to 1, the rank that decides needs no less than the average of all.
  double before = 0;
  if (layers_are_all())
    for (int r = 1; r < c.pipeline; ++r) before += (pass.times.seconds.rest - pass.tail + (r - 1) * pass.times.seconds.layer) / all;
  std::vector<Rank> ranks{{1.0 / c.pipeline, before / c.pipeline}};
  if (c.chunks > 1) return ranks;
  // Without chunks what lies before are whole shares, x_0 + ... + x_(r-1) of the first micro-batch's seconds. No rank decides before the
  // others if each share is the one before it times 1 - first / passes, and they add up to 1.
  const double first = pass.times.first.of(layers());
  const double passes = first + static_cast<double>(micro_batches(c, problem_.training.global_batch) - 1) * all;
  ranks.push_back({first / passes / (1 - std::pow(1 - first / passes, c.pipeline)), 0});
  return ranks;
}

bool PlanBounds::layers_are_all() const {
  const auto weighty = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);
  return weighty > 1 && sketcher_.layers().unit == 1 && sketcher_.layers().count == static_cast<std::size_t>(weighty);
}

double PlanBounds::seconds(const GridConfig& c, const LayerSketch& s, const PassSketch& pass) {
  const auto m = static_cast<double>(micro_batches(c, problem_.training.global_batch));
  const double first = pass.times.first.of(layers()), later = pass.times.seconds.of(layers());
  double passes = 0, slowest = 0;
  for (const Rank& r : even_ranks(c, pass)) {
    passes = std::max(passes, r.share * (first + (m - 1) * later) + r.before * first);
    slowest = std::max(slowest, r.share * later);
  }
  if (c.data * c.context == 1) return passes;
  // Experts' gradients, which fewer share, are left out.
  const double dense = 1 - expert_part(s);
  const double reduced = all_reduce(c, dense * s.gradients.of(layers()) / c.pipeline);
  if (c.zero < 2) return passes + std::max(0.0, reduced - slowest);  // overlapped with the passes of the last micro-batch
  // An all-reduce is a reduce-scatter and an all-gather. Stage 2 scatters after each micro-batch, and stage 3 gathers weights twice.
  const double gathered = c.zero < 3 ? 0 : all_reduce(c, dense * s.weights.of(layers()) / c.pipeline);
  return std::max(passes, m * (reduced / 2 + gathered));
}

double PlanBounds::expert_part(const LayerSketch& s) const {
  const double all = s.weights.of(layers());
  return all > 0 ? s.expert_weights.of(layers()) / all : 0;
}

double PlanBounds::bytes(const GridConfig& c, const LayerSketch& s, const PassSketch& pass, double kept_layers) const {
  // Replicas of the experts are as many fewer as experts are shared out.
  const double sharded = (1 - expert_part(s) + expert_part(s) * c.expert) / (c.data * c.context);
  const auto share = [&](int stage) { return c.zero >= stage ? sharded : 1.0; };
  const double states = s.weights.of(layers()) * share(3) + s.gradients.of(layers()) * share(2) + s.optimizer.of(layers()) * share(1);
  // Where no layer repeats, all that a micro-batch keeps is known of the whole model alone.
  const double kept = layers() > 0 ? kept_layers * pass.kept_bytes.layer : pass.kept_bytes.rest / c.pipeline;
  return states / c.pipeline + kept + pass.working_bytes;
}

double PlanBounds::all_reduce(const GridConfig& c, double bytes) {
  const int replicas = c.data * c.context;
  const auto [seconds, is_new_size] = reduced_.try_emplace({c.tensor, replicas, bytes});
  if (!is_new_size) return seconds->second;
  const auto [groups, is_new] = replicas_.try_emplace({c.tensor, replicas});
  if (is_new)
    for (int t = 0; t < c.tensor; ++t) {
      groups->second.emplace_back();
      for (int r = 0; r < replicas; ++r) groups->second.back().emplace_back(static_cast<std::size_t>(r * c.tensor + t));
    }
  seconds->second = problem_.oracle.collectives(sim::CollectiveKind::all_reduce, base::Bytes(bytes), groups->second).time.value();
  return seconds->second;
}

}  // namespace search
