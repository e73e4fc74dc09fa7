#include "search/megatron/refinements.hpp"

#include <numeric>

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

// Megatron-LM has neither; DeepSpeed and PyTorch have zero bubbles or nothing of the kind, and no grid.
Refinement schedules_of(const GridConfig& config, Framework framework) {
  Refinement r{"schedule", {}};
  if (framework != Framework::generic || config.pipeline == 1 || config.chunks > 1) return r;
  for (const ScheduleKind kind : {ScheduleKind::zero_bubble, ScheduleKind::dual_pipe}) {
    if (kind == ScheduleKind::dual_pipe && config.pipeline % 2 != 0) continue;
    GridConfig c = config;
    c.schedule = kind;
    r.values.push_back(std::move(c));
  }
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

std::vector<Refinement> refinements_of(const GridConfig& config, Framework framework) {
  std::vector<Refinement> all{exchanges_of_keys(config), schedules_of(config, framework)};
  if (framework == Framework::generic || framework == Framework::megatron) {
    all.push_back(overlap(config, "tensor", &pcg::Overlap::tensor, config.tensor > 1 && config.sequence_parallel));
    all.push_back(overlap(config, "parameters", &pcg::Overlap::parameters, config.zero == 1 || config.zero == 2));
    all.push_back(overlap(config, "experts", &pcg::Overlap::experts, config.expert > 1));
  }
  return all;
}

std::vector<std::string> refine(GridConfig& config, double& best, Framework framework,
                                const std::function<std::optional<double>(const GridConfig&)>& seconds) {
  std::vector<std::string> changed;
  const std::size_t choices = refinements_of(config, framework).size();
  for (std::size_t i = 0; i < choices; ++i) {
    // Asked anew, so that a choice stands on those before it.
    const Refinement r = refinements_of(config, framework)[i];
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
