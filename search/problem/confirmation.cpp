#include "search/problem/confirmation.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace search {
namespace {

constexpr std::size_t kMostLost = 10;  // search_result.hpp

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
  if (const auto known = std::ranges::find_if(simulated_, is_it, &Simulated::plan); known != simulated_.end())
    return known->simulation.iteration_time;
  if (std::ranges::any_of(too_large_, is_it)) return std::nullopt;
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  if (!memory.fits()) {
    ++candidates_;
    const NeedsMemory shortage{memory.peak, memory.capacity};
    if (!shortage_ || lacks_less(shortage, *shortage_)) {
      shortage_ = shortage;
      closest_ = too_large_.size();
    }
    plan.name = name_;
    too_large_.push_back(std::move(plan));
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
  plan.name = name_;
  if (context_.progress) context_.progress(fmt::format("{}: {:.4g} s", plan.summary, simulation.iteration_time.value()));
  simulated_.push_back({std::move(plan), std::move(simulation), expected});
}

const Confirmation::Simulated* Confirmation::best() const {
  const auto best = std::ranges::min_element(simulated_, {}, [](const Simulated& s) { return s.simulation.iteration_time; });
  return best == simulated_.end() ? nullptr : &*best;
}

std::optional<base::Seconds> Confirmation::best_time() const {
  const Simulated* s = best();
  return s != nullptr ? std::optional(s->simulation.iteration_time) : std::nullopt;
}

const pcg::Plan* Confirmation::best_plan() const {
  const Simulated* s = best();
  return s != nullptr ? &s->plan : nullptr;
}

SearchResult Confirmation::result(const Budget& budget) && {
  SearchResult r{.termination = termination(budget.ended_by()), .candidates = candidates_, .counted = budget.counted()};
  if (simulated_.empty()) {
    if (shortage_) r.closest = std::move(too_large_[closest_]);
    return r;
  }
  const auto best = std::ranges::min_element(simulated_, {}, [](const Simulated& p) { return p.simulation.iteration_time; });
  for (const Simulated& p : simulated_)
    if (&p != &*best) r.lost.push_back({p.plan.summary, Slower{p.simulation.iteration_time, best->simulation.iteration_time}});
  std::ranges::stable_sort(r.lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
  r.lost.resize(std::min(r.lost.size(), kMostLost));
  r.objective = best->simulation.iteration_time;
  if (best->expected)
    r.notes.push_back(fmt::format("the costs that the search adds up make the plan {:.4g} s, the simulation {:.4g} s ({:+.1f} %)",
                                  best->expected->value(), r.objective->value(), (*best->expected / *r.objective - 1) * 100));
  r.best = std::move(best->plan);
  r.simulation = std::move(best->simulation);
  return r;
}

Termination Confirmation::termination(std::optional<Limit> ended_by) const {
  if (!simulated_.empty()) return Termination::feasible(ended_by.value_or(Limit::options));
  if (ended_by || !shortage_) return Termination::nothing_found(ended_by.value_or(Limit::effort));
  return Termination::infeasible(ClosestMiss{too_large_[closest_].summary, *shortage_});
}

}  // namespace search
