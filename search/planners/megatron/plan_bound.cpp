#include "search/planners/megatron/plan_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/memory/model_states.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {
namespace {

// Buckets of gradients do not end where layers do, so that what is exposed after the last pass grows by a little more or less from layer
// to layer: on the grids of tests/search/plan_bound_test.cpp, which holds this, iterations on one stage came out at most 1.05 times too
// long.
constexpr double kUnevenTails = 1.05;

std::int64_t micro_batches(const GridConfig& c, std::int64_t global_batch) { return global_batch / c.data / c.micro_batch; }

}  // namespace

PlanBounds::PlanBounds(const Problem& problem, std::span<const pcg::Recompute> recomputations)
    : problem_(problem),
      sketcher_(problem, recomputations),
      devices_are_alike_(std::ranges::all_of(problem.cluster.devices(), [first = topology::kind_of(problem.cluster.devices()[0])](
                                                                            const topology::Device& d) { return kind_of(d) == first; })) {}

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
  return {seconds(c, s, pass.times, even_ranks(c, pass)), bytes(c, s, pass, kept * layers() / c.pipeline)};
}

PlanBound PlanBounds::closer_bound(const GridConfig& c) {
  const LayerSketch& s = *sketch(c);
  const PassSketch& pass = s.passes.at(c.recompute);
  PlanBound known = bound(c);
  std::vector<Rank> ranks = even_ranks(c, pass);
  if (devices_are_alike_ && layers_are_all() && c.pipeline > 1 && has_equal_stages(c)) {
    const int each = static_cast<int>(layers()) / (c.pipeline * c.chunks);
    ranks = equal_ranks(c, pass, each);
    known.bytes = std::max(known.bytes, bytes(c, s, pass, kept_layers(c, each)));
    known.seconds = seconds(c, s, pass.times, ranks);
  }
  const std::pair<Cut, int> key{cut_of(c), c.data};
  auto at = replicated_.find(key);
  if (at == replicated_.end()) at = replicated_.emplace(key, sketcher_.times(c, c.data)).first;
  if (!at->second) return known;
  const PassTimes& replicated = at->second->at({c.recompute, c.zero});
  const PerLayer& tail = replicated.tail;
  // From ZeRO 2 on a stage of a pipeline scatters gradients and gathers weights while it waits for others, too: what it waits for either is
  // not more than both.
  if (c.zero >= 2 && c.pipeline > 1) {
    for (const Rank& r : ranks) known.seconds = std::max(known.seconds, work(c, replicated, r));
    if (c.zero == 2) known.seconds = std::max(known.seconds, passes(c, pass.times, ranks, tail.layer));
    return known;
  }
  known.seconds = std::max(known.seconds, seconds(c, s, replicated, ranks));
  // Which stages have the tail of the rest is not known.
  if (c.pipeline > 1) known.seconds = std::max(known.seconds, passes(c, replicated, ranks, tail.layer));
  else if (layers_fill_buckets(c, s))
    known.seconds = std::max(known.seconds, (passes(c, replicated, ranks) + tail.of(layers())) / kUnevenTails);
  return known;
}

bool PlanBounds::layers_fill_buckets(const GridConfig& c, const LayerSketch& s) const {
  const profiles::FrameworkProfile& framework = problem_.oracle.framework(problem_.training);
  const int replicas = c.data * c.context;
  if (replicas == 1 || !framework.overlap_gradients) return true;
  const double parameter = sim::model_state_bytes(problem_.training, framework).gradient;
  const double bucket = framework.overlapped_bucket.empty()
                            ? framework.gradient_bucket.value()
                            : parameter * framework.overlapped_bucket.parameters_among(static_cast<std::size_t>(replicas));
  // Experts' gradients are in buckets of their own.
  const double experts = s.gradients.layer * expert_part(s), dense = s.gradients.layer - experts;
  return std::isinf(bucket) || (dense >= bucket && (experts == 0 || experts >= bucket));
}

bool PlanBounds::has_equal_stages(const GridConfig& c) const {
  const auto weighty = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);
  return c.pipeline == 1 || (!c.balanced_stages && weighty % (c.pipeline * c.chunks) == 0);
}

std::vector<PlanBounds::Rank> PlanBounds::even_ranks(const GridConfig& c, const PassSketch& pass) const {
  const double each = layers() / c.pipeline, all = pass.times.seconds.of(layers());
  if (all == 0) return {{0, 0, each}};
  if (has_equal_stages(c)) return {{1.0 / c.pipeline, (1 - 1.0 / c.pipeline) / c.chunks, each}};
  // Rank r needs its share x_r of all micro-batches' seconds, and before it the first one passes what lies before: the embedding, and at
  // least a layer for each stage but the first. As the shares add up to 1, the rank that decides needs no less than the average of all.
  double before = 0;
  if (layers_are_all())
    for (int r = 1; r < c.pipeline; ++r) before += (pass.times.seconds.rest - pass.tail + (r - 1) * pass.times.seconds.layer) / all;
  std::vector<Rank> ranks{{1.0 / c.pipeline, before / c.pipeline, 0}};
  if (c.chunks > 1) return ranks;
  // Without chunks what lies before are whole shares, x_0 + ... + x_(r-1) of the first micro-batch's seconds. No rank decides before the
  // others if each share is the one before it times 1 - first / passes, and they add up to 1.
  const double first = pass.times.first.of(layers());
  const double passes = first + static_cast<double>(micro_batches(c, problem_.training.global_batch) - 1) * all;
  ranks.push_back({first / passes / (1 - std::pow(1 - first / passes, c.pipeline)), 0, 0});
  return ranks;
}

std::vector<PlanBounds::Rank> PlanBounds::equal_ranks(const GridConfig& c, const PassSketch& pass, int each) const {
  const double all = pass.times.seconds.of(layers());
  if (all == 0) return even_ranks(c, pass);
  const double layer = pass.times.seconds.layer / all, tail = pass.tail / all, embedding = pass.times.seconds.rest / all - tail;
  std::vector<Rank> ranks(static_cast<std::size_t>(c.pipeline));
  for (Rank& r : ranks) r = {each * c.chunks * layer, 0, static_cast<double>(each) * c.chunks};
  ranks.front().share += embedding;
  ranks.back().share += tail;
  for (std::size_t r = 1; r < ranks.size(); ++r) ranks[r].before = ranks[r - 1].before + each * layer + (r == 1 ? embedding : 0);
  return ranks;
}

double PlanBounds::kept_layers(const GridConfig& c, int each) const {
  // Kept outputs grow while the pipeline fills, which a few rounds of micro-batches do.
  constexpr std::int64_t kFillingRounds = 4;
  const auto filling = std::min(micro_batches(c, problem_.training.global_batch), kFillingRounds * c.pipeline);
  int kept = 0, most = 0;
  const sim::Schedule schedule{c.schedule, c.pipeline, c.chunks, static_cast<int>(filling),
                               c.overlap.experts.value_or(false)};  // the grid's are plain
  for (const sim::Slot& slot : sim::slots_of(schedule, 0)) {
    kept += slot.pass == sim::Pass::forward ? each : -each;
    most = std::max(most, kept);
  }
  return most;
}

bool PlanBounds::layers_are_all() const {
  const auto weighty = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);
  return weighty > 1 && sketcher_.layers().unit == 1 && sketcher_.layers().count == static_cast<std::size_t>(weighty);
}

double PlanBounds::work(const GridConfig& c, const PassTimes& pass, const Rank& rank) const {
  const auto m = static_cast<double>(micro_batches(c, problem_.training.global_batch));
  return rank.share * (pass.first.of(layers()) + (m - 1) * pass.seconds.of(layers()));
}

double PlanBounds::passes(const GridConfig& c, const PassTimes& pass, std::span<const Rank> ranks, double tail) const {
  double longest = 0;
  for (const Rank& r : ranks) longest = std::max(longest, work(c, pass, r) + r.before * pass.first.of(layers()) + r.layers * tail);
  return longest;
}

double PlanBounds::seconds(const GridConfig& c, const LayerSketch& s, const PassTimes& pass, std::span<const Rank> ranks) {
  const auto m = static_cast<double>(micro_batches(c, problem_.training.global_batch));
  const double passes = this->passes(c, pass, ranks), slowest = std::ranges::max(ranks, {}, &Rank::share).share * pass.seconds.of(layers());
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
