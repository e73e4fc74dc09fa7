#include "search/megatron/megatron_search.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "pcg/work/saved.hpp"
#include "search/estimates/estimate.hpp"
#include "search/megatron/grid_points.hpp"
#include "search/megatron/megatron.hpp"
#include "search/problem/deadline.hpp"

namespace search {
namespace {

using base::Seconds;

constexpr std::size_t kMostLost = 10;  // more than a person reads
constexpr int kMostSimulated = 1000;   // some minutes of simulation on a large cluster

struct Candidate {
  std::size_t point = 0;  // of the grid
  GridConfig config;
  Seconds estimate;
};

struct Simulated {
  pcg::Plan plan;
  sim::SimulationResult simulation;
  [[nodiscard]] Seconds time() const { return simulation.iteration_time; }
};

// Keeps what needs the least memory of all that does not fit.
void note_miss(std::optional<ClosestMiss>& closest, const std::string& candidate, const NeedsMemory& memory) {
  if (!closest || memory.needed < closest->memory.needed) closest = ClosestMiss{candidate, memory};
}

// Every candidate of the grid, by its estimate.
struct Ranking {
  std::vector<Candidate> candidates;  // the best estimate first
  std::size_t points = 0, seen = 0;   // of the grid
  std::size_t too_big = 0;            // candidates whose model states alone are too much
  std::optional<ClosestMiss> closest;
  std::optional<Refusal> refusal;  // of the last point that cannot be built
};

// Per device: what it has for tensors.
std::vector<base::Bytes> memory_for_tensors(const Problem& problem) {
  std::vector<base::Bytes> room;
  for (std::size_t d = 0; d < problem.cluster.devices().size(); ++d) {
    const profiles::DeviceProfile& profile = problem.oracle.device(base::DeviceId(d));
    room.push_back(problem.cluster.devices()[d].memory.value_or(profile.memory) - profile.reserved);
  }
  return room;
}

// Of the device that lacks most, if one does.
std::optional<NeedsMemory> shortage(std::span<const base::Bytes> needed, std::span<const base::Bytes> room) {
  std::optional<NeedsMemory> most;
  for (std::size_t d = 0; d < needed.size(); ++d)
    if (needed[d] > room[d] && (!most || needed[d] - room[d] > most->needed - most->available)) most = NeedsMemory{needed[d], room[d]};
  return most;
}

// Selective recomputation of a model that keeps no scores would be a second name for none.
std::vector<pcg::Recompute> recomputations(const pcg::Graph& model) {
  if (std::ranges::any_of(model.nodes(), [](const pcg::GraphNode& n) { return pcg::keeps_scores(n.op); }))
    return {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full};
  return {pcg::Recompute::none, pcg::Recompute::full};
}

// What all points are ranked by.
struct Ranker {
  const Problem& problem;
  std::vector<base::Bytes> room;
  std::vector<pcg::Recompute> recomputations;
};

// One plan serves all variants of a point: recomputation and ZeRO 1 do not change its graph.
void rank_point(std::size_t point, const GridConfig& config, const pcg::Plan& plan, const Ranker& ranker, Ranking& ranking) {
  Estimator estimates(plan, ranker.problem.oracle);
  for (int zero : {0, 1}) {
    if (zero == 1 && config.data == 1) continue;
    const std::optional<NeedsMemory> lacks = shortage(estimates.model_states(zero), ranker.room);
    for (const pcg::Recompute recompute : ranker.recomputations) {
      if (!lacks) {
        GridConfig c = config;
        c.recompute = recompute;
        c.zero = zero;
        ranking.candidates.push_back({point, c, estimates.time({recompute, zero})});
        continue;
      }
      ++ranking.too_big;
      note_miss(ranking.closest,
                fmt::format("{}, recompute {}, zero {} (model states alone)", plan.summary,
                            pcg::recompute_names()[static_cast<std::size_t>(recompute)], zero),
                *lacks);
    }
  }
}

Ranking rank(const Problem& problem, const Deadline& deadline, const SearchContext& context) {
  const std::vector<GridConfig> points = grid_points(problem);
  const Ranker ranker{problem, memory_for_tensors(problem), recomputations(problem.model)};
  GridPlanner planner(problem);
  Ranking ranking;
  for (ranking.points = points.size(); ranking.seen < points.size() && !deadline.has_passed(); ++ranking.seen) {
    if (context.progress) context.progress(fmt::format("megatron: {} of {} points of the grid", ranking.seen, points.size()));
    auto plan = megatron_plan(planner, points[ranking.seen]);
    if (plan) rank_point(ranking.seen, points[ranking.seen], std::move(plan).value(), ranker, ranking);
    else ranking.refusal = plan.refusal();
  }
  // Stable: among equal estimates the order of the grid decides, so that the answer does not depend on the library.
  std::ranges::stable_sort(ranking.candidates, {}, &Candidate::estimate);
  return ranking;
}

// The memory that a plan needs, if it does not fit.
std::optional<NeedsMemory> shortage(const Problem& problem, const pcg::Plan& plan) {
  const sim::MemoryUse memory = problem.oracle.memory(plan);
  if (memory.fits()) return std::nullopt;
  return NeedsMemory{memory.peak, memory.capacity};
}

// The best of the ranking, simulated whole.
struct Confirmation {
  std::vector<Simulated> simulated;   // in order of their estimates
  std::vector<LostCandidate> no_fit;  // the first few
  std::uint64_t built = 0;
  std::optional<Limit> limit;  // what ended it, if something was left
};

class Confirming {
 public:
  Confirming(const Problem& problem, Ranking& ranking) : problem_(problem), ranking_(ranking), points_(ranking.points) {}

  // From the best estimate on, what fits into memory is simulated, until enough was. Plain data parallelism is simulated in any case, last:
  // the estimates may err, and the search is to be no worse than what it generalises.
  Confirmation run(int simulate_best, const Deadline& deadline, const SearchContext& context) {
    const Candidate* data_parallel = nullptr;
    for (const Candidate& c : ranking_.candidates) {
      if (points_[c.point] == Point::infeasible) continue;
      if (static_cast<int>(result_.simulated.size()) == simulate_best) result_.limit = Limit::candidates;
      else if (deadline.has_passed()) result_.limit = Limit::time;
      if (!result_.limit) confirm(c, context);
      else if (is_data_parallel(c)) data_parallel = &c;
    }
    if (data_parallel != nullptr && deadline.has_passed()) result_.limit = Limit::time;
    else if (data_parallel != nullptr) confirm(*data_parallel, context);
    return std::move(result_);
  }

 private:
  enum class Point { unknown, feasible, infeasible };

  // Whole replicas that take their samples at once, without recomputation and sharding: the plan of data_parallel.hpp.
  [[nodiscard]] bool is_data_parallel(const Candidate& c) const {
    GridConfig plain;
    plain.data = problem_.cluster.device_count();
    plain.micro_batch = problem_.training.global_batch / plain.data;
    return c.config == plain;
  }

  void confirm(const Candidate& c, const SearchContext& context) {
    auto plan = megatron_plan(problem_, c.config);
    if (!plan) return;
    ++result_.built;
    if (!fits(*plan)) return try_minimum_memory(c, *plan);
    if (context.progress) context.progress(fmt::format("megatron: simulating {}", plan->summary));
    sim::SimulationResult simulation = problem_.oracle.plan(*plan);
    result_.simulated.push_back({std::move(plan).value(), std::move(simulation)});
  }

  bool fits(const pcg::Plan& plan) {
    const auto short_of = shortage(problem_, plan);
    if (!short_of) return true;
    if (result_.no_fit.size() < kMostLost) result_.no_fit.push_back({plan.summary, *short_of});
    note_miss(ranking_.closest, plan.summary, *short_of);
    return false;
  }

  // Where the minimum-memory candidate of a point does not fit either, the others of the point need not be asked about.
  void try_minimum_memory(const Candidate& c, const pcg::Plan& plan) {
    if (points_[c.point] != Point::unknown) return;
    pcg::Plan minimum = plan;
    minimum.recompute = pcg::Recompute::full;
    minimum.zero = 1;
    minimum.summary += " (even with recompute full and zero 1)";
    points_[c.point] = fits(minimum) ? Point::feasible : Point::infeasible;
  }

  const Problem& problem_;
  Ranking& ranking_;
  std::vector<Point> points_;  // by point of the grid
  Confirmation result_;
};

std::vector<LostCandidate> lost_to(const Simulated& best, const std::vector<Simulated>& simulated, std::vector<LostCandidate> no_fit) {
  std::vector<const Simulated*> slower;
  for (const Simulated& s : simulated)
    if (s.plan.summary != best.plan.summary) slower.push_back(&s);
  std::ranges::stable_sort(slower, {}, &Simulated::time);
  std::vector<LostCandidate> lost;
  for (const Simulated* s : slower) lost.push_back({s->plan.summary, Slower{s->time(), best.time()}});
  lost.insert(lost.end(), no_fit.begin(), no_fit.end());
  if (lost.size() > kMostLost) lost.resize(kMostLost);
  return lost;
}

BindingConstraint binding_of(const Ranking& ranking) {
  if (ranking.closest) return *ranking.closest;
  if (ranking.refusal) return Refusal{ranking.refusal->constraint, "no point of the grid can be built: " + ranking.refusal->why};
  return Refusal{Constraint::batch, "no degrees divide both the GPUs and the batch"};
}

Termination termination_of(const Ranking& ranking, const Confirmation& confirmed) {
  const bool cut_off = ranking.seen < ranking.points || confirmed.limit == Limit::time;
  if (confirmed.simulated.empty()) return cut_off ? Termination::nothing_found(Limit::time) : Termination::infeasible(binding_of(ranking));
  if (cut_off) return Termination::feasible(Limit::time);
  return confirmed.limit ? Termination::feasible(*confirmed.limit) : Termination::optimal();
}

}  // namespace

SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config, const SearchContext& context) {
  const Deadline deadline(context, config.budget);
  Ranking ranking = rank(problem, deadline, context);
  Confirmation confirmed = Confirming(problem, ranking).run(config.simulate_best, deadline, context);

  SearchResult result{.termination = termination_of(ranking, confirmed), .candidates = confirmed.built};
  if (ranking.seen < ranking.points)
    result.notes.push_back(fmt::format("time was up after {} of {} points of the grid", ranking.seen, ranking.points));
  if (confirmed.simulated.empty()) {
    result.lost = std::move(confirmed.no_fit);
    return result;
  }
  result.notes.push_back(fmt::format("best of {} candidates of the grid, {} simulated whole", ranking.candidates.size() + ranking.too_big,
                                     confirmed.simulated.size()));
  auto best = std::ranges::min_element(confirmed.simulated, {}, &Simulated::time);  // the first of equals: the best estimate
  result.lost = lost_to(*best, confirmed.simulated, std::move(confirmed.no_fit));
  result.objective = best->time();
  result.best = std::move(best->plan);
  result.simulation = std::move(best->simulation);
  return result;
}

Planner megatron_search_planner() {
  const MegatronSearchConfig defaults;
  return {.kind = "megatron",
          .form = "search",
          .about = "The best of Megatron's grid: all degrees, micro-batches, chunks, recomputation and ZeRO 1.",
          .searches = true,
          .options = {{"budget", Duration{defaults.budget}, "the time that the search may take"},
                      {"simulate_best", WholeNumber{.least = 1, .most = kMostSimulated, .by_default = defaults.simulate_best},
                       "so many of the ranked grid are simulated whole"}},
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return megatron_search(p, {.budget = o.duration("budget"), .simulate_best = static_cast<int>(o.whole_number("simulate_best"))},
                                   c);
          }};
}

}  // namespace search
