#include "search/planners/megatron/megatron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "search/cost/estimate.hpp"
#include "search/planners/megatron/ranking.hpp"
#include "search/problem/options.hpp"

namespace search {
namespace {

constexpr double kMostForRanking = 0.5;  // of the budget
constexpr int kMostSimulated = 1000;     // some minutes of simulation on a large cluster
// Estimates are blind to contention, so that simulations are rarely better: by at most a tenth where ZeRO 3 gathers weights on a slow
// network, elsewhere by less than a fiftieth (Llama-70B on 64 H100, Llama-1B on 64 A100 with one 100 Gb/s NIC a node, whole grids).
constexpr double kEstimateMargin = 1.05;

std::vector<int> layers_per_stage(const pcg::Plan& plan) {
  std::set<std::pair<int, int>> layers;  // stage and block
  for (std::size_t n = 0; n < plan.stage.size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (node.computes() && plan.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty) layers.emplace(plan.stage[n], node.block);
  }
  std::vector<int> of_stage(static_cast<std::size_t>(plan.stages), 0);
  for (const auto& [stage, block] : layers) ++of_stage[static_cast<std::size_t>(stage)];
  return of_stage;
}

// A plan whose estimate is so much better than the best is simulated before others are evaluated.
constexpr double kClearlyBetter = 0.995;

// Plans that cannot be better than the best by a thousandth, which is less than the error of simulations, are not evaluated.
constexpr double kLeastGain = 0.999;

// Families whose stages need not be equal are estimated by a rough split. The one that takes least is found where a plan is simulated, and
// is rarely quicker by more (llama3-8b on 16 stages: 2.319 s for 2.353).
constexpr double kMostBalanced = 1.05;

struct Candidate {
  GridConfig config;
  bool is_rough = false;  // its list of layers is
  double estimate = 0;
  bool is_variant = false;  // a better variant of its family is a candidate, too
  [[nodiscard]] double least() const { return is_rough ? estimate / kMostBalanced : estimate; }
};

GridConfig with(GridConfig config, const sim::Variant& v) {
  config.recompute = v.recompute;
  config.zero = v.zero;
  return config;
}

struct Simulated {
  GridConfig config;
  pcg::Plan plan;
  sim::SimulationResult simulation;
  [[nodiscard]] base::Seconds time() const { return simulation.iteration_time; }
};

struct Findings {
  std::vector<Simulated> simulated;     // in order
  std::vector<LostCandidate> no_fit;    // the first few
  std::optional<NeedsMemory> shortage;  // of the closest
  std::optional<pcg::Plan> closest;     // of those that do not fit
  std::uint64_t built = 0;
  PrunedCounts pruned;
  std::size_t refined = 0;           // simulated to refine the grid's best
  std::vector<std::string> changed;  // by that
  bool has_data_parallel = false;    // it is the last that was simulated, and was pruned before
};

// Builds, holds against memory and simulates plans of the grid, and keeps what is found.
class Confirmed {
 public:
  Confirmed(const Problem& problem, const PrunedCounts& pruned, Budget& budget, const SearchContext& context)
      : problem_(problem), budget_(budget), context_(context), planner_(problem) {
    found_.pruned = pruned;
  }

  [[nodiscard]] Findings& found() { return found_; }
  [[nodiscard]] double best() const { return best_; }  // seconds of what was simulated
  [[nodiscard]] Attempt<pcg::Plan> plan(const GridConfig& config, Balance balance = Balance::whole) {
    return megatron_plan(planner_, config, balance);
  }
  // Counts and notes what does not.
  bool fits(pcg::Plan plan, const GridConfig& config) {
    plan.recompute = config.recompute;
    plan.zero = config.zero;
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    if (memory.fits()) return true;
    ++found_.pruned.too_big;
    note_miss(config, memory);
    return false;
  }

  void note_miss(const GridConfig& config, const sim::MemoryUse& memory) {
    const NeedsMemory shortage{memory.peak, memory.capacity};
    const bool is_listed = found_.no_fit.size() < kMostLost;
    const bool is_closest = !found_.shortage || lacks_less(shortage, *found_.shortage);
    if (!is_listed && !is_closest) return;
    pcg::Plan plan = megatron_plan(planner_, config).value();
    if (is_listed) found_.no_fit.push_back({plan.summary, shortage});
    if (!is_closest) return;
    found_.shortage = shortage;
    found_.closest = std::move(plan);
  }

  // Returns: the seconds of an iteration.
  double simulate(const GridConfig& config) {
    Attempt<pcg::Plan> made = plan(config);
    BASE_CHECK(made, "the plan was built before");
    ++found_.built;
    budget_.count(1);
    if (context_.progress) context_.progress(fmt::format("megatron: simulating {}", made->summary));
    sim::SimulationResult simulation = problem_.oracle.plan(*made);
    const double seconds = simulation.iteration_time.value();
    best_ = std::min(best_, seconds);
    found_.simulated.push_back({config, std::move(made).value(), std::move(simulation)});
    return seconds;
  }

  // In place of a rough split the one that takes least, if it fits. Stages that come out equal are the plan of equal stages once more.
  void simulate(const Candidate& c) {
    GridConfig config = c.config;
    if (c.is_rough) {
      config.layers_per_stage.clear();
      const pcg::Plan plan = this->plan(config).value();
      const std::vector<int> layers = layers_per_stage(plan);
      if (config.balanced_stages && std::ranges::adjacent_find(layers, std::ranges::not_equal_to()) == layers.end()) {
        ++found_.pruned.duplicates;
        return;
      }
      if (!problem_.oracle.memory(plan).fits()) config = c.config;
    }
    simulate(config);
  }

 private:
  const Problem& problem_;
  Budget& budget_;
  const SearchContext& context_;
  GridPlanner planner_;
  double best_ = std::numeric_limits<double>::infinity();
  Findings found_;
};

// Sketches are of the first devices: where others are of another type, or quicker, they bound nothing.
bool bounds_hold(const topology::Cluster& cluster) {
  const topology::DeviceKind first = topology::kind_of(cluster.devices()[0]);
  return std::ranges::all_of(cluster.devices(), [&](const topology::Device& d) {
    const topology::DeviceKind kind = topology::kind_of(d);
    return kind.type == first.type && kind.speed == first.speed && kind.slowdown >= first.slowdown &&
           kind.host_slowdown >= first.host_slowdown;
  });
}

// Families of plans, the least bound first, until all that are left cannot be better than the best.
class Proposals {
 public:
  Proposals(const Problem& problem, PlanBounds& bounds, Ranking& ranking, Confirmed& confirmed, const SearchContext& context)
      : problem_(problem), bounds_(bounds), ranking_(ranking), confirmed_(confirmed), context_(context) {}

  // Returns: plans that fit and are not simulated yet.
  std::vector<Candidate> run(Budget& budget) {
    // Closer bounds put a family back among the others.
    for (std::size_t f = 0; f < ranking_.families.size(); ++f) queue_.push({ranking_.families[f].variants.front().seconds, false, f});
    while (!queue_.empty()) {
      const Queued next = queue_.top();
      queue_.pop();
      Family& family = ranking_.families[next.family];
      if (is_dominated(family.variants.front())) pruned().dominated += family.variants.size();
      else if (!budget.take()) pruned().unreached += family.variants.size();
      else if (!next.is_close) requeue(next.family);
      else evaluate(family);
    }
    return std::move(waiting_);
  }

 private:
  struct Queued {
    double seconds = 0;  // at least
    bool is_close = false;
    std::size_t family = 0;
    auto operator<=>(const Queued&) const = default;
  };
  [[nodiscard]] PrunedCounts& pruned() { return confirmed_.found().pruned; }
  [[nodiscard]] bool is_dominated(const RankedVariant& v) const { return bounds_hold_ && kLeastGain * confirmed_.best() <= v.seconds; }

  void requeue(std::size_t number) {
    Family& family = ranking_.families[number];
    std::vector<RankedVariant> fitting;
    for (const RankedVariant& v : family.variants) {
      const PlanBound bound = bounds_.closer_bound(with(family.config, v.variant));
      if (bound.bytes <= ranking_.room) fitting.push_back({v.variant, bound.seconds});
      else ++pruned().too_big;
    }
    family.variants = std::move(fitting);
    std::ranges::stable_sort(family.variants, {}, &RankedVariant::seconds);
    if (!family.variants.empty()) queue_.push({family.variants.front().seconds, true, number});
  }

  // Estimates the variants of a family. One that seems to be the best is simulated at once: the better the best, the more it dominates.
  void evaluate(const Family& family) {
    if (context_.progress)
      context_.progress(fmt::format("megatron: {} of {} kinds of plans left", queue_.size(), ranking_.families.size()));
    const Attempt<pcg::Plan> plan = confirmed_.plan(family.config, Balance::rough);
    if (!plan) {
      pruned().refused += family.variants.size();
      return;
    }
    bool is_variant = false;
    for (Candidate& c : estimated(family, *plan)) {
      if (c.least() >= kEstimateMargin * confirmed_.best()) {
        ++pruned().dominated;
      } else if (confirmed_.fits(*plan, c.config)) {
        c.is_variant = std::exchange(is_variant, true);
        if (!c.is_variant && c.estimate < kClearlyBetter * confirmed_.best()) confirmed_.simulate(c);
        else waiting_.push_back(std::move(c));
      }
    }
  }

  // The best estimate first.
  std::vector<Candidate> estimated(const Family& family, const pcg::Plan& plan) {
    Estimator estimator(plan, problem_.oracle);
    Candidate c{.config = family.config, .is_rough = !bounds_.has_equal_stages(family.config)};
    if (c.is_rough) c.config.layers_per_stage = layers_per_stage(plan);
    std::vector<Candidate> candidates;
    for (const RankedVariant& v : family.variants) {
      if (is_dominated(v)) {
        ++pruned().dominated;
        continue;
      }
      c.config = with(c.config, v.variant);
      c.estimate = estimator.time(v.variant).value();
      candidates.push_back(c);
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::estimate);
    return candidates;
  }

  const Problem& problem_;
  PlanBounds& bounds_;
  Ranking& ranking_;
  Confirmed& confirmed_;
  const SearchContext& context_;
  bool bounds_hold_ = bounds_hold(problem_.cluster);
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
  std::vector<Candidate> waiting_;
};

// One of each family first, so that plans that hardly differ do not crowd out all others.
void simulate_best(std::vector<Candidate> waiting, std::size_t most, Confirmed& confirmed, Budget& budget) {
  std::ranges::stable_sort(waiting, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.is_variant, a.estimate) < std::tie(b.is_variant, b.estimate);
  });
  PrunedCounts& pruned = confirmed.found().pruned;
  for (const Candidate& c : waiting) {
    if (c.least() >= kEstimateMargin * confirmed.best()) ++pruned.dominated;
    else if (confirmed.found().simulated.size() >= most) ++pruned.unsimulated;
    else if (budget.is_spent()) ++pruned.unreached;
    else confirmed.simulate(c);
  }
}

// Choices that the grid leaves out are made for its best plan alone.
void refine_best(const Problem& problem, const Wishes& wishes, Confirmed& confirmed, Budget& budget) {
  Findings& found = confirmed.found();
  if (found.simulated.empty()) return;
  GridConfig config = std::ranges::min_element(found.simulated, {}, &Simulated::time)->config;
  double best = confirmed.best();
  const RefinementScope scope{problem.training.framework, problem.training.precision,
                              static_cast<int>(problem.cluster.domain_devices(0).size())};
  found.changed = refine(config, best, scope, [&](const GridConfig& c) -> std::optional<double> {
    if (!wishes.allow(c) || budget.is_spent()) return std::nullopt;
    const Attempt<pcg::Plan> plan = confirmed.plan(c);
    if (!plan || !problem.oracle.memory(*plan).fits()) return std::nullopt;
    ++found.refined;
    return confirmed.simulate(c);
  });
}

// Whole replicas that take their samples at once, without recomputation and sharding: the plan of data_parallel.hpp. The bounds and the
// estimates may err, and the search is to be no worse than what it generalises, whenever it ends.
void confirm_data_parallel(const Problem& problem, const Wishes& wishes, Confirmed& confirmed) {
  GridConfig plain;
  plain.data = problem.cluster.device_count();
  plain.micro_batch = std::max<std::int64_t>(1, problem.training.global_batch / plain.data);
  if (!wishes.allow(plain)) return;
  const Attempt<pcg::Plan> plan = confirmed.plan(plain);
  if (!plan) return;
  const auto is_it = [&](const Simulated& s) { return s.plan.summary == plan->summary; };
  if (std::ranges::any_of(confirmed.found().simulated, is_it) || !problem.oracle.memory(*plan).fits()) return;
  confirmed.simulate(plain);
  confirmed.found().has_data_parallel = true;
}

Findings search_grid(const Problem& problem, const MegatronSearchConfig& config, PlanBounds& bounds, Ranking ranking, Budget& budget,
                     const SearchContext& context) {
  Confirmed confirmed(problem, ranking.pruned, budget, context);
  simulate_best(Proposals(problem, bounds, ranking, confirmed, context).run(budget), static_cast<std::size_t>(config.simulate_best),
                confirmed, budget);
  refine_best(problem, config.wishes, confirmed, budget);
  confirm_data_parallel(problem, config.wishes, confirmed);
  if (confirmed.found().simulated.empty() && ranking.smallest)
    if (const Attempt<pcg::Plan> plan = confirmed.plan(*ranking.smallest))
      confirmed.note_miss(*ranking.smallest, problem.oracle.memory(*plan));
  return std::move(confirmed.found());
}

std::vector<LostCandidate> lost_to(const Simulated& best, const std::vector<Simulated>& simulated, std::vector<LostCandidate> no_fit) {
  std::vector<LostCandidate> lost;
  for (const Simulated& s : simulated)
    if (s.plan.summary != best.plan.summary) lost.push_back({s.plan.summary, Slower{s.time(), best.time()}});
  std::ranges::stable_sort(lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
  lost.insert(lost.end(), no_fit.begin(), no_fit.end());
  if (lost.size() > kMostLost) lost.resize(kMostLost);
  return lost;
}

BindingConstraint binding_of(const Findings& found, const std::optional<Refusal>& refusal) {
  if (found.closest) return ClosestMiss{found.closest->summary, *found.shortage};
  BASE_CHECK(refusal, "no plan of the grid, and no reason");
  return Refusal{refusal->constraint, "no point of the grid can be built: " + refusal->why};
}

// Says without which wish there would be some.
Refusal no_points(const Problem& problem, const Wishes& wishes) {
  if (grid_points(problem).empty()) return {Constraint::batch, "no degrees divide both the GPUs and the batch"};
  std::vector<std::string> binding;
  for (const auto& [axis, others] : wishes.each_given_up())
    if (!grid_points(problem, others).empty()) binding.push_back(axis);
  return {Constraint::devices,
          fmt::format("{} GPUs and a batch of {} have no plan with {}{}", problem.cluster.device_count(), problem.training.global_batch,
                      wishes.text(),
                      binding.empty() ? "" : fmt::format("; without the wish for {} they have some", fmt::join(binding, " or ")))};
}

// `ended_by`: where something was not reached.
Termination termination_of(const Findings& found, const std::optional<Refusal>& refusal, std::optional<Limit> ended_by) {
  if (found.simulated.empty())
    return ended_by ? Termination::nothing_found(*ended_by) : Termination::infeasible(binding_of(found, refusal));
  if (ended_by) return Termination::feasible(*ended_by);
  return found.pruned.dominated + found.pruned.unsimulated > 0 ? Termination::feasible(Limit::options) : Termination::optimal();
}

// The plans of the grid, and their numbers by what became of them; whether plain data parallelism was simulated besides.
base::Fact grid_counts(std::size_t plans, const Findings& found) {
  const PrunedCounts& p = found.pruned;
  const std::size_t simulated = found.simulated.size() - found.refined - (found.has_data_parallel ? 1 : 0);
  return base::Fact("grid-counts", plans, p.refused, p.too_big, p.duplicates, p.dominated, simulated, p.unsimulated, p.unreached,
                    found.has_data_parallel);
}

// Plans whose times differ by less are a tie: forecasts are not so good that the difference means anything.
constexpr double kTie = 1.01;

std::vector<Simulated>::iterator plainest_of_best(std::vector<Simulated>& simulated) {
  const base::Seconds limit = std::ranges::min_element(simulated, {}, &Simulated::time)->time() * kTie;
  return std::ranges::min_element(simulated, {}, [&](const Simulated& s) {
    return std::tuple(s.time() > limit, s.time() > limit ? 0 : choices_of(s.config), s.time());
  });
}

void note_tie(const Simulated& chosen, const std::vector<Simulated>& simulated, std::vector<base::Fact>& notes) {
  const Simulated& quickest = *std::ranges::min_element(simulated, {}, &Simulated::time);
  if (quickest.plan.summary == chosen.plan.summary) return;
  const auto tied = std::ranges::count_if(simulated, [&](const Simulated& s) { return s.time() <= quickest.time() * kTie; });
  notes.emplace_back("tie", tied, kTie - 1, quickest.plan.summary, quickest.time().value());
}

}  // namespace

SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config, const SearchContext& context) {
  Budget budget(context, config.budget);
  PlanBounds bounds(problem, recomputations_of(problem.model));
  // Sketches of a large grid could take all the time: plans that fit are worth more than bounds of all.
  Budget for_ranking(context, budget.part(kMostForRanking));
  Ranking ranking = rank(problem, config.wishes, bounds, for_ranking, context);
  budget.add_part(for_ranking.counted(), {});
  const std::size_t plans = ranking.plans;
  const std::optional<Refusal> refusal = plans == 0 ? no_points(problem, config.wishes) : ranking.refusal;
  Findings found = search_grid(problem, config, bounds, std::move(ranking), budget, context);

  std::optional<Limit> ended_by;
  if (found.pruned.unreached > 0) ended_by = budget.ended_by().value_or(for_ranking.ended_by().value_or(Limit::effort));
  SearchResult result{.termination = termination_of(found, refusal, ended_by), .candidates = found.built, .counted = budget.counted()};
  result.notes.push_back(grid_counts(plans, found));
  if (const std::string wishes = config.wishes.text(); !wishes.empty()) result.notes.emplace_back("wishes", wishes);
  if (found.refined > 0)
    result.notes.push_back(found.changed.empty() ? base::Fact("best-not-refined", found.refined)
                                                 : base::Fact("best-refined", found.refined, found.changed));
  if (!found.simulated.empty()) result.notes.emplace_back("choices-not-tried");
  const auto is_expert = [](const pcg::GraphNode& n) { return std::holds_alternative<pcg::ExpertLinear>(n.op); };
  if (std::ranges::any_of(problem.model.nodes(), is_expert)) result.notes.emplace_back("experts-of-grid");
  if (found.simulated.empty()) {
    result.lost = std::move(found.no_fit);
    result.closest = std::move(found.closest);
    return result;
  }
  const auto best = plainest_of_best(found.simulated);
  note_tie(*best, found.simulated, result.notes);
  result.lost = lost_to(*best, found.simulated, std::move(found.no_fit));
  result.objective = best->time();
  const auto place = static_cast<std::size_t>(best - found.simulated.begin());
  const std::size_t others = found.simulated.size() - (found.has_data_parallel ? 1 : 0);  // of the grid, and then refined ones
  result.found_by = place >= others ? "data-parallel" : place >= others - found.refined ? "refinement" : "grid";
  result.best = std::move(best->plan);
  result.simulation = std::move(best->simulation);
  return result;
}

Planner megatron_search_planner() {
  const MegatronSearchConfig defaults;
  std::vector<Option> own = Wishes::options();
  own.insert(own.begin(), {"simulate_best", WholeNumber{.least = 1, .most = kMostSimulated, .by_default = defaults.simulate_best},
                           "number of the best plans of the grid that are simulated whole, besides plain data parallelism"});
  return {.kind = "megatron",
          .form = "search",
          .about =
              "The best of Megatron's grid: all degrees, sequence parallelism, micro-batches, chunks, stages, recomputation and ZeRO 1 "
              "to 3.",
          .searches = true,
          .options = with_limits(defaults.budget.seconds, "points of the grid bounded, kinds of plans estimated, and plans simulated,",
                                 std::move(own), "effort in seconds of one core, counted by steps; bounds take half of it at most"),
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return megatron_search(
                p, {.budget = limits_of(o), .simulate_best = static_cast<int>(o.whole_number("simulate_best")), .wishes = Wishes(o)}, c);
          }};
}

}  // namespace search
