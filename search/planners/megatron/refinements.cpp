#include "search/planners/megatron/ranking.hpp"

#include <initializer_list>
#include <utility>

namespace search {
namespace {

using pcg::Framework;
using pcg::ScheduleKind;

constexpr double kLeastWorth = 0.999;

Refinement exchanges_of_keys(const GridConfig& config) {
  Refinement r{"context_kind", {}};
  if (config.context == 1) return r;
  const auto add = [&](ContextKind kind, int all_to_all) {
    GridConfig c = config;
    c.context_kind = kind;
    c.context_all_to_all = all_to_all;
    r.values.push_back(std::move(c));
  };
  add(ContextKind::ulysses, 1);
  for (int n = 2; n < config.context; n *= 2)
    if (config.context % n == 0) add(ContextKind::ring, n);
  add(ContextKind::gather, 1);
  return r;
}

// A choice of one member: every value that is not the configuration's.
template <class Member>
Refinement choice(const GridConfig& config, std::string what, std::initializer_list<Member> values, Member GridConfig::*member) {
  Refinement r{std::move(what), {}};
  for (const Member& value : values) {
    if (config.*member == value) continue;
    r.values.push_back(config);
    r.values.back().*member = value;
  }
  return r;
}

// Megatron-LM has none of them; DeepSpeed and PyTorch have zero bubbles or nothing of the kind, and no grid.
Refinement schedules_of(const GridConfig& config) {
  if (config.pipeline == 1) return {"schedule", {}};
  if (config.chunks > 1) return choice(config, "schedule", {ScheduleKind::breadth_first}, &GridConfig::schedule);
  if (config.pipeline % 2 != 0) return choice(config, "schedule", {ScheduleKind::zero_bubble}, &GridConfig::schedule);
  return choice(config, "schedule", {ScheduleKind::zero_bubble, ScheduleKind::dual_pipe}, &GridConfig::schedule);
}

// The first layers of each stage in place of all.
Refinement recomputed_of(const GridConfig& config) {
  constexpr int kMostLayers = 32;
  Refinement r{"recompute", {}};
  if (config.recompute != pcg::Recompute::full || config.memory.recomputed != pcg::RecomputedParts{}) return r;
  for (int n = 1; n <= kMostLayers; n *= 2) {
    r.values.push_back(config);
    r.values.back().memory.recomputed.blocks = n;
  }
  return r;
}

// Groups within a domain, whose members need no network, and half of all.
Refinement shards_of(const GridConfig& config, int domain_devices) {
  const int holders = config.data * config.context, within = domain_devices / config.tensor;
  Refinement r{"shard", {}};
  if (config.zero == 0 || config.shard != 0) return r;
  for (const int n : {within, holders / 2}) {
    if (n <= 1 || n >= holders || holders % n != 0 || (!r.values.empty() && r.values.front().shard == n)) continue;
    r.values.push_back(config);
    r.values.back().shard = n;
  }
  return r;
}

Refinement weights_of(const GridConfig& config, pcg::Precision precision) {
  Refinement r{"weights", {}};
  if (!pcg::casts_products(precision) || config.memory.weights != pcg::WeightStorage::bf16) return r;
  r.values.push_back(config);
  r.values.back().memory.weights = precision == pcg::Precision::mxfp8   ? pcg::WeightStorage::mxfp8
                                   : precision == pcg::Precision::nvfp4 ? pcg::WeightStorage::nvfp4
                                                                        : pcg::WeightStorage::fp8;
  return r;
}

Refinement overlap(const GridConfig& config, std::string what, std::optional<bool> pcg::Overlap::*choice, bool makes_sense) {
  Refinement r{"overlap " + std::move(what), {}};
  if (!makes_sense || config.overlap.*choice) return r;
  GridConfig c = config;
  c.overlap.*choice = true;
  r.values.push_back(std::move(c));
  return r;
}

}  // namespace

std::vector<Refinement> refinements_of(const GridConfig& config, const RefinementScope& scope) {
  std::vector<Refinement> all{exchanges_of_keys(config)};
  const bool is_generic = scope.framework == Framework::generic;
  if (is_generic) all.push_back(schedules_of(config));
  if (is_generic || scope.framework == Framework::megatron || scope.framework == Framework::megatron_core) {
    all.push_back(config.expert == 1 ? Refinement{"dispatch", {}}  // in two equal steps: one of them represents both
                                     : choice(config, "dispatch", {pcg::Dispatch::forwarded}, &GridConfig::dispatch));
    all.push_back(config.expert == 1 || config.tensor == 1 ? Refinement{"expert_tensor", {}}
                                                           : choice(config, "expert_tensor", {1}, &GridConfig::expert_tensor));
    all.push_back(recomputed_of(config));
    all.push_back(shards_of(config, scope.domain_devices));
    all.push_back(weights_of(config, scope.precision));
    all.push_back(overlap(config, "tensor", &pcg::Overlap::tensor, config.tensor > 1 && config.sequence_parallel));
    all.push_back(overlap(config, "parameters", &pcg::Overlap::parameters, config.zero == 1 || config.zero == 2));
    all.push_back(overlap(config, "experts", &pcg::Overlap::experts, config.expert > 1));
  }
  return all;
}

std::vector<std::string> refine(GridConfig& config, double& best, const RefinementScope& scope,
                                const std::function<std::optional<double>(const GridConfig&)>& seconds) {
  std::vector<std::string> changed;
  const std::size_t choices = refinements_of(config, scope).size();
  for (std::size_t i = 0; i < choices; ++i) {
    // Asked again, so that a choice is based on those before it.
    const Refinement r = refinements_of(config, scope)[i];
    for (const GridConfig& value : r.values) {
      const std::optional<double> s = seconds(value);
      if (!s || *s >= kLeastWorth * best) continue;
      best = *s;
      config = value;
      if (changed.empty() || changed.back() != r.what) changed.push_back(r.what);
    }
  }
  return changed;
}

}  // namespace search
