#include "search/problem/confirmation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
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

// The largest degree of loops of this name.
int degree_of(const pcg::PcgNode& node, std::string_view name) {
  int degree = 1;
  for (std::size_t l = 0; l < node.space->loops.size(); ++l)
    if (node.space->loops[l].name == name) degree = std::max(degree, node.sharding.degrees[l]);
  return degree;
}

bool lacks_less(const NeedsMemory& a, const NeedsMemory& b) { return a.needed - a.available < b.needed - b.available; }

}  // namespace

std::vector<int> layers_per_stage(const pcg::Plan& plan) {
  std::set<std::pair<int, int>> layers;  // stage and block
  for (std::size_t n = 0; n < plan.stage.size(); ++n)
    if (const pcg::PcgNode& node = plan.pcg.nodes()[n]; node.computes() && plan.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty)
      layers.emplace(plan.stage[n], node.block);
  std::vector<int> of_stage(static_cast<std::size_t>(plan.stages), 0);
  for (const auto& [stage, block] : layers) ++of_stage[static_cast<std::size_t>(stage)];
  return of_stage;
}

int mechanisms_of(const pcg::Plan& plan) {
  const int ranks = pcg::ranks_of(plan);
  const std::vector<int> stages = layers_per_stage(plan);
  bool features = false, experts = false, on_parts = false;
  int of_attention = 1, of_norms = 1;  // shares of the positions
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    if (!n.computes()) continue;
    on_parts = on_parts || n.sharding.points() * ranks < plan.gpus;
    experts = experts || degree_of(n, "experts") > 1;
    const pcg::Operator& op = *n.operation();
    if (std::holds_alternative<pcg::Attention>(op)) of_attention = std::max(of_attention, degree_of(n, "s"));
    if (std::holds_alternative<pcg::LayerNorm>(op)) of_norms = std::max(of_norms, degree_of(n, "s"));
    for (std::size_t l = 0; l < n.space->loops.size(); ++l) {
      const std::string& name = n.space->loops[l].name;
      features = features || (n.sharding.degrees[l] > 1 && name != "b" && name != "s" && name != "experts");
    }
  }
  const bool made[] = {features,
                       experts,
                       on_parts,
                       of_attention > 1,
                       of_norms > of_attention,
                       ranks > 1,
                       plan.chunks > 1,
                       std::ranges::adjacent_find(stages, std::not_equal_to()) != stages.end(),
                       plan.schedule != pcg::ScheduleKind::one_f_one_b && plan.chunks == 1,
                       plan.lean_warm_up,
                       plan.recompute != pcg::Recompute::none,
                       plan.zero > 0,
                       !(plan.memory == pcg::MemoryPolicy{}),
                       !(plan.overlap == pcg::Overlap{}),
                       plan.dispatch != pcg::Dispatch::all_to_all,
                       plan.cuda_graphs,
                       !plan.rewrites.empty()};
  return static_cast<int>(std::ranges::count(made, true));
}

Confirmation::Confirmation(const Problem& problem, const SearchContext& context, std::string name, Ties ties)
    : problem_(problem), context_(context), name_(std::move(name)), ties_(ties) {}

std::optional<base::Seconds> Confirmation::confirm(pcg::Plan plan, std::optional<base::Seconds> expected) {
  const auto is_it = [&](const pcg::Plan& p) { return runs_alike(p, plan); };
  if (const auto s = std::ranges::find_if(simulated_, is_it, &Simulated::plan); s != simulated_.end()) return s->time();
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  if (!memory.fits()) {
    miss(std::move(plan), memory);
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
  const Surety surety = context_.surety ? context_.surety(plan, simulation) : Surety{simulation.iteration_time};
  simulated_.push_back({std::move(plan), std::move(simulation), expected, std::move(found_by), surety});
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

Confirmation::Simulated& Confirmation::best(SearchResult& r) {
  const auto rank = [this](const Simulated& s) { return this->rank(s); };
  Simulated& first = *std::ranges::min_element(simulated_, {}, rank);
  std::vector<Simulated*> ties;
  for (Simulated& s : simulated_)
    if (rank(s) <= rank(first) * kTie) ties.push_back(&s);
  Simulated& plainest =
      **std::ranges::min_element(ties, {}, [&](const Simulated* s) { return std::tuple(mechanisms_of(s->plan), rank(*s)); });
  if (&plainest == &first) return first;
  if (ties_ == Ties::to_plainest) {
    r.notes.emplace_back("tie", ties.size(), kTie - 1, first.plan.summary, first.time().value());
    return plainest;
  }
  r.notes.emplace_back("plainer", plainest.plan.summary, plainest.time().value(), kTie - 1);
  return first;
}

SearchResult Confirmation::result(const Budget& budget) && {
  const std::optional<Limit> ended_by = budget.ended_by();
  SearchResult r{
      .termination = Termination::feasible(ended_by.value_or(Limit::options)), .candidates = candidates_, .counted = budget.counted()};
  if (simulated_.empty()) return no_plan(std::move(r), ended_by);
  Simulated& best = this->best(r);
  for (const Simulated& p : simulated_)
    if (&p != &best) r.lost.push_back({p.plan.summary, Slower{p.time(), best.time()}});
  std::ranges::stable_sort(r.lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
  std::ranges::copy(too_large_, std::back_inserter(r.lost));
  r.lost.resize(std::min(r.lost.size(), kMostLost));
  r.objective = best.time();
  if (best.expected)
    r.notes.insert(r.notes.begin(),
                   base::Fact("cost-and-simulation", best.expected->value(), r.objective->value(), *best.expected / *r.objective - 1));
  note_surety(best, r);
  r.best = std::move(best.plan);
  r.found_by = std::move(best.found_by);
  r.simulation = std::move(best.simulation);
  return r;
}

}  // namespace search
