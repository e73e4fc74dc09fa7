#include "search/planners/megatron/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "search/cost/estimate.hpp"
#include "search/cost/margins.hpp"
#include "search/planners/megatron/megatron.hpp"

namespace search {
namespace {

GridConfig with(GridConfig config, const sim::Variant& v) {
  config.recompute = v.recompute;
  config.zero = v.zero;
  return config;
}

// Sketches are of the first devices: where others are of another type, or quicker, they bound nothing.
bool bounds_hold(const topology::Cluster& cluster) {
  const topology::DeviceKind first = topology::kind_of(cluster.devices()[0]);
  return std::ranges::all_of(cluster.devices(), [&](const topology::Device& d) {
    const topology::DeviceKind kind = topology::kind_of(d);
    return kind.type == first.type && kind.speed == first.speed && kind.slowdown >= first.slowdown &&
           kind.host_slowdown >= first.host_slowdown;
  });
}

}  // namespace

Candidates::Candidates(const Problem& problem, PlanBounds& bounds, Budget& budget, const SearchContext& context)
    : problem_(problem),
      bounds_(bounds),
      budget_(budget),
      context_(context),
      bounds_hold_(bounds_hold(problem.cluster)),
      planner_(problem),
      confirmation_(problem, context, "megatron") {}

double Candidates::best() const {
  return confirmation_.best_time().value_or(base::Seconds(std::numeric_limits<double>::infinity())).value();
}

bool Candidates::is_far(const Candidate& c) const {
  const double least = c.is_rough ? c.estimate / kBalancingGains : c.estimate;
  return least >= kReplaysErr * best();
}

bool Candidates::is_dominated(double seconds) const { return bounds_hold_ && kLeastGain * best() <= seconds; }

std::optional<Candidates::Evaluation> Candidates::evaluation_of(const GridConfig& family) const {
  const auto at = std::ranges::find(evaluations_, family, &std::pair<GridConfig, Evaluation>::first);
  return at == evaluations_.end() ? std::nullopt : std::optional(at->second);
}

Candidates::Evaluation Candidates::evaluate(const Family& family, bool asked_for) {
  Evaluation evaluation;
  const Attempt<pcg::Plan> plan = megatron_plan(planner_, family.config, Balance::rough);
  evaluation.is_refused = !plan;
  if (!plan) {
    refusal_ = plan.refusal();
  } else {
    std::array<bool, 2> has_one{};  // without ZeRO 3, and with it, whose estimates miss most
    for (Candidate& c : estimated(family, *plan, evaluation)) {
      const bool far = is_far(c);
      if (far) has_left_out_ = true;
      if (far && (!asked_for || evaluation.best)) continue;
      c.is_variant = std::exchange(has_one.at(c.config.zero == 3 ? 1 : 0), true);
      if (!evaluation.best) evaluation.best = all_.size();
      all_.push_back(std::move(c));
    }
  }
  return evaluations_.emplace_back(family.config, evaluation).second;
}

// Those that fit, the best estimate first. Of one ZeRO stage the least recomputation that fits alone: more only takes longer. A lower stage
// needs at least as much.
std::vector<Candidates::Candidate> Candidates::estimated(const Family& family, const pcg::Plan& plan, Evaluation& evaluation) {
  Estimator estimator(plan, problem_.oracle);
  Candidate c{.config = family.config, .is_rough = !bounds_.has_equal_stages(family.config)};
  if (c.is_rough) c.config.layers_per_stage = layers_per_stage(plan);
  std::vector<Candidate> candidates;
  std::vector<RankedVariant> variants = family.variants;
  std::ranges::sort(variants, {}, [](const RankedVariant& v) { return std::pair(-v.variant.zero, v.variant.recompute); });
  int lacking = -1;  // a stage of which nothing fits
  for (const RankedVariant& v : variants) {
    const auto [recompute, zero] = std::pair(v.variant.recompute, v.variant.zero);
    const bool has_one = !candidates.empty() && candidates.back().config.zero == zero;
    const bool is_less = !candidates.empty() && recompute < candidates.back().config.recompute;
    if (has_one || is_less || zero < lacking || is_dominated(v.bound.seconds)) {
      ++evaluation.dominated;
      continue;
    }
    ++evaluation.estimated;
    c.config = with(c.config, v.variant);
    lacking = fits(plan, c.config) ? -1 : zero;
    if (lacking == zero) continue;
    c.estimate = estimator.time(v.variant).value();
    candidates.push_back(c);
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::estimate);
  return candidates;
}

bool Candidates::fits(pcg::Plan plan, const GridConfig& config) {
  plan.recompute = config.recompute;
  plan.zero = config.zero;
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  if (memory.fits()) return true;
  if (confirmation_.is_telling(memory)) confirmation_.miss(megatron_plan(planner_, config, Balance::rough).value(), memory);
  return false;
}

bool Candidates::simulate(std::size_t candidate, const std::string& by) {
  Candidate& c = all_[candidate];
  if (std::exchange(c.is_simulated, true)) return false;
  const double best_before = best();
  GridConfig config = c.config;
  // In place of a rough split the one that takes least, if it fits.
  if (c.is_rough) {
    config.layers_per_stage.clear();
    if (!problem_.oracle.memory(megatron_plan(planner_, config).value()).fits()) config = c.config;
  }
  Attempt<pcg::Plan> plan = megatron_plan(planner_, config);
  BASE_CHECK(plan, "the plan was built before");
  if (context_.progress) context_.progress(fmt::format("megatron: simulating {}", plan->summary));
  budget_.count(1);
  plan->name = by;
  confirmation_.confirm(std::move(plan).value());
  const bool is_best = best() < best_before;
  if (is_best) best_candidate_ = candidate;
  return is_best;
}

void Candidates::simulate_best(std::size_t most, const std::string& by) {
  std::vector<std::size_t> waiting;
  for (std::size_t c = 0; c < all_.size(); ++c)
    if (!all_[c].is_simulated) waiting.push_back(c);
  std::ranges::stable_sort(waiting, {}, [&](std::size_t c) { return std::pair(all_[c].is_variant, all_[c].estimate); });
  for (const std::size_t c : waiting) {
    if (is_far(all_[c]) || confirmation_.simulated() >= most || budget_.is_spent()) has_left_out_ = true;
    else simulate(c, by);
  }
}

}  // namespace search
