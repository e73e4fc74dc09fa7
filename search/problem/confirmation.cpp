#include "search/problem/confirmation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>
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

std::optional<base::Seconds> Confirmation::confirm(pcg::Plan plan, const Proposal& known) {
  const auto is_it = [&](const pcg::Plan& p) { return runs_alike(p, plan); };
  if (const auto s = std::ranges::find_if(simulated_, is_it, &Simulated::plan); s != simulated_.end()) return s->time();
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  if (!memory.fits()) {
    miss(std::move(plan), memory);
    return std::nullopt;
  }
  sim::SimulationResult simulation = problem_.oracle.plan(plan);
  const base::Seconds time = simulation.iteration_time;
  take(std::move(plan), std::move(simulation), known);
  return time;
}

void Confirmation::take(pcg::Plan plan, sim::SimulationResult simulation, const Proposal& known) {
  if (std::ranges::any_of(simulated_, [&](const Simulated& s) { return runs_alike(s.plan, plan); })) return;
  ++candidates_;
  std::string found_by = std::exchange(plan.name, name_);
  if (context_.progress) context_.progress(fmt::format("{}: {:.4g} s", plan.summary, simulation.iteration_time.value()));
  const Surety surety = context_.surety ? context_.surety(plan, simulation) : Surety{simulation.iteration_time};
  simulated_.push_back({std::move(plan), std::move(simulation), known, std::move(found_by), surety});
}

void Confirmation::miss(pcg::Plan plan, const sim::MemoryUse& memory) {
  ++candidates_;
  const NeedsMemory shortage{memory.peak, memory.capacity};
  if (too_large_.size() < kMostLost) too_large_.push_back({plan.summary, shortage});
  if (shortage_ && !lacks_less(shortage, *shortage_)) return;
  plan.name = name_;
  shortage_ = shortage;
  closest_ = std::move(plan);
}

bool Confirmation::is_telling(const sim::MemoryUse& memory) const {
  return too_large_.size() < kMostLost || lacks_less({memory.peak, memory.capacity}, *shortage_);
}

const Confirmation::Simulated* Confirmation::quickest() const {
  const auto best = std::ranges::min_element(simulated_, {}, &Simulated::time);
  return best == simulated_.end() ? nullptr : &*best;
}

std::optional<base::Seconds> Confirmation::best_time() const {
  const Simulated* s = quickest();
  return s != nullptr ? std::optional(s->time()) : std::nullopt;
}

const pcg::Plan* Confirmation::best_plan() const {
  const Simulated* s = quickest();
  return s != nullptr ? &s->plan : nullptr;
}

SearchResult Confirmation::no_plan(SearchResult r, std::optional<Limit> ended_by) {
  r.termination = ended_by || !closest_ ? Termination::nothing_found(ended_by.value_or(Limit::effort))
                                        : Termination::infeasible(ClosestMiss{closest_->summary, *shortage_});
  r.closest = std::move(closest_);
  r.lost = std::move(too_large_);
  return r;
}

// What a ranking by the upper ends passed over, and the best plan of a kind that was measured where the answer's was not.
void Confirmation::note_surety(const Simulated& best, SearchResult& r) const {
  if (const Simulated& q = *quickest(); context_.ranks_surely && rank(q) > rank(best) * kTie)
    r.notes.emplace_back("ranked-surely", best.surety.high.value(), q.plan.summary, q.time().value(), q.surety.high.value());
  if (best.surety.is_measured) return;
  const Simulated* sure = nullptr;
  for (const Simulated& s : simulated_)
    if (s.surety.is_measured && (sure == nullptr || rank(s) < rank(*sure))) sure = &s;
  if (sure != nullptr) r.notes.emplace_back("few-rows", best.surety.points, sure->surety.points, sure->plan.summary, sure->time().value());
}

SearchResult Confirmation::result(const Budget& budget) && {
  const std::optional<Limit> ended_by = budget.ended_by();
  SearchResult r{
      .termination = Termination::feasible(ended_by.value_or(Limit::options)), .candidates = candidates_, .counted = budget.counted()};
  if (simulated_.empty()) return no_plan(std::move(r), ended_by);
  const auto rank = [this](const Simulated& s) { return this->rank(s); };
  const Simulated& first = *std::ranges::min_element(simulated_, {}, rank);
  const base::Seconds limit = rank(first) * kTie;
  const auto best = std::ranges::min_element(
      simulated_, {}, [&](const Simulated& s) { return std::tuple(rank(s) > limit, rank(s) > limit ? 0 : s.known.choices, rank(s)); });
  for (const Simulated& p : simulated_)
    if (&p != &*best) r.lost.push_back({p.plan.summary, Slower{p.time(), best->time()}});
  std::ranges::stable_sort(r.lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
  std::ranges::copy(too_large_, std::back_inserter(r.lost));
  r.lost.resize(std::min(r.lost.size(), kMostLost));
  r.objective = best->time();
  if (best->known.expected)
    r.notes.emplace_back("cost-and-simulation", best->known.expected->value(), r.objective->value(),
                         *best->known.expected / *r.objective - 1);
  if (&*best != &first)
    r.notes.emplace_back("tie", std::ranges::count_if(simulated_, [&](const Simulated& s) { return rank(s) <= limit; }), kTie - 1,
                         first.plan.summary, first.time().value());
  note_surety(*best, r);
  r.best = std::move(best->plan);
  r.found_by = std::move(best->found_by);
  r.simulation = std::move(best->simulation);
  return r;
}

}  // namespace search
