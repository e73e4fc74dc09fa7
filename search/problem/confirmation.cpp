#include "search/problem/confirmation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace search {
namespace {

bool runs_alike(const pcg::Plan& a, pcg::Plan b) {
  b.name = a.name;
  b.summary = a.summary;
  b.rewrites = a.rewrites;
  return a == b;
}

}  // namespace

Confirmation::Confirmation(const Problem& problem, const SearchContext& context, std::string name)
    : problem_(problem), context_(context), name_(std::move(name)) {}

std::optional<base::Seconds> Confirmation::confirm(pcg::Plan plan, std::optional<base::Seconds> expected) {
  const auto is_it = [&](const pcg::Plan& p) { return runs_alike(p, plan); };
  if (const auto known = std::ranges::find_if(simulated_, is_it, &Simulated::plan); known != simulated_.end()) return known->time();
  if (std::ranges::any_of(too_large_, is_it, &TooLarge::plan)) return std::nullopt;
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  if (!memory.fits()) {
    ++candidates_;
    plan.name = name_;
    too_large_.push_back({std::move(plan), {memory.peak, memory.capacity}});
    return std::nullopt;
  }
  sim::SimulationResult simulation = problem_.oracle.plan(plan);
  const base::Seconds time = simulation.iteration_time;
  take(std::move(plan), std::move(simulation), expected);
  return time;
}

void Confirmation::take(pcg::Plan plan, sim::SimulationResult simulation, std::optional<base::Seconds> expected) {
  if (std::ranges::any_of(simulated_, [&](const Simulated& s) { return runs_alike(s.plan, plan); })) return;
  ++candidates_;
  std::string found_by = std::exchange(plan.name, name_);
  if (context_.progress) context_.progress(fmt::format("{}: {:.4g} s", plan.summary, simulation.iteration_time.value()));
  simulated_.push_back({std::move(plan), std::move(simulation), expected, std::move(found_by)});
}

const Confirmation::Simulated* Confirmation::best() const {
  const auto best = std::ranges::min_element(simulated_, {}, &Simulated::time);
  return best == simulated_.end() ? nullptr : &*best;
}

std::optional<base::Seconds> Confirmation::best_time() const {
  const Simulated* s = best();
  return s != nullptr ? std::optional(s->time()) : std::nullopt;
}

const pcg::Plan* Confirmation::best_plan() const {
  const Simulated* s = best();
  return s != nullptr ? &s->plan : nullptr;
}

SearchResult Confirmation::result(const Budget& budget) && {
  const std::optional<Limit> ended_by = budget.ended_by();
  SearchResult r{
      .termination = Termination::feasible(ended_by.value_or(Limit::options)), .candidates = candidates_, .counted = budget.counted()};
  if (simulated_.empty()) {
    const auto closest = std::ranges::min_element(too_large_, lacks_less, &TooLarge::shortage);
    if (ended_by || too_large_.empty()) r.termination = Termination::nothing_found(ended_by.value_or(Limit::effort));
    else r.termination = Termination::infeasible(ClosestMiss{closest->plan.summary, closest->shortage});
    if (!too_large_.empty()) r.closest = std::move(closest->plan);
    return r;
  }
  const auto best = std::ranges::min_element(simulated_, {}, &Simulated::time);
  for (const Simulated& p : simulated_)
    if (&p != &*best) r.lost.push_back({p.plan.summary, Slower{p.time(), best->time()}});
  std::ranges::stable_sort(r.lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
  r.lost.resize(std::min(r.lost.size(), kMostLost));
  r.objective = best->time();
  if (best->expected)
    r.notes.emplace_back("cost-and-simulation", best->expected->value(), r.objective->value(), *best->expected / *r.objective - 1);
  r.best = std::move(best->plan);
  r.found_by = std::move(best->found_by);
  r.simulation = std::move(best->simulation);
  return r;
}

}  // namespace search
