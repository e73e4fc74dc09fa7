#include "search/planners/data_parallel/data_parallel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>

#include "base/divisors.hpp"
#include "search/cost/estimate.hpp"
#include "search/cost/margins.hpp"
#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/problem/options.hpp"

namespace search {
namespace {

constexpr double kMostOfBudget = 0.25;     // of a search that has these plans beside its own
constexpr const char* kName = "fsdp";      // of plans
constexpr std::size_t kMostConfirmed = 4;  // of estimates so close to each other that which is simulated matters little

struct EstimatedPlan {
  pcg::Plan plan;
  double seconds = 0;
};

// They differ in recomputation alone.
bool are_variants(const GridConfig& a, GridConfig b) {
  b.recompute = a.recompute;
  return a == b;
}

// The quickest of a few grids: all are estimated, and the best by their estimates are simulated. Those that cannot be built are left out.
class QuickestSearch {
 public:
  // `grids`: at least one; those that differ in recomputation alone follow each other, because they share most of an estimate.
  QuickestSearch(const Problem& problem, const std::vector<GridConfig>& grids, Budget& budget, Confirmation& confirmation)
      : problem_(problem), grids_(grids), budget_(budget), confirmation_(confirmation) {}

  // Returns: a note; or why no grid can be built.
  Attempt<base::Fact> run() {
    estimate_all();
    if (estimated_.empty() && refusal_) return *refusal_;
    std::ranges::stable_sort(estimated_, {}, &EstimatedPlan::seconds);
    const std::size_t candidates = estimated_.size(), simulated = confirm();
    return simulated == 0 ? base::Fact("no-choice-fits", candidates) : base::Fact("best-choices-simulated", candidates, simulated);
  }

 private:
  void estimate_all() {
    GridPlanner planner(problem_);
    const GridConfig* estimated = nullptr;
    std::optional<pcg::Plan> like;  // the estimator refers to it
    std::unique_ptr<Estimator> estimator;
    for (const GridConfig& grid : grids_) {
      if (!budget_.take() && !estimated_.empty()) return;
      Attempt<pcg::Plan> plan = planner.plan(grid, kName);
      if (!plan) {
        refusal_ = plan.refusal();
        continue;
      }
      if (estimated == nullptr || !are_variants(*estimated, grid)) {
        estimated = &grid;
        estimator.reset();
        like = *plan;
        estimator = std::make_unique<Estimator>(*like, problem_.oracle);
      }
      const double seconds = estimator->time({.recompute = plan->recompute, .zero = plan->zero}).value();
      estimated_.push_back({std::move(plan).value(), seconds});
    }
  }

  // Returns: how many were simulated.
  std::size_t confirm() {
    std::size_t simulated = 0;
    for (EstimatedPlan& e : estimated_) {
      const std::optional<base::Seconds> best = confirmation_.best_time();
      if (best && (e.seconds >= kReplaysErr * best->value() || simulated == kMostConfirmed)) break;
      if (best && !budget_.take()) break;
      if (confirmation_.confirm(std::move(e.plan), base::Seconds(e.seconds))) ++simulated;
    }
    return simulated;
  }

  const Problem& problem_;
  const std::vector<GridConfig>& grids_;
  Budget& budget_;
  Confirmation& confirmation_;
  std::vector<EstimatedPlan> estimated_;  // the best first, once all are there
  std::optional<Refusal> refusal_;        // the last
};

constexpr int kStages = 3;

bool synchronises_once(const OptionValues& o) { return o.choice("synchronise") == 0; }

GridConfig sharded_grid_of(const OptionValues& o, int stage) {
  GridConfig grid;
  grid.zero = stage;
  grid.tensor = static_cast<int>(o.whole_number("tensor"));
  grid.context = static_cast<int>(o.whole_number("context"));
  grid.micro_batch = o.whole_number("micro_batch");
  take_memory_options(o, grid);
  grid.shard = static_cast<int>(o.whole_number("shard"));
  if (o.given("prefetch")) grid.memory.zero.prefetch = static_cast<int>(o.whole_number("prefetch"));
  grid.memory.zero.accumulates = grid.zero >= 2 && o.given("synchronise") && synchronises_once(o);
  grid.memory.zero.keeps_weights = !o.flag("reshard_after_forward");
  grid.overlap = overlap_of(o);
  return grid;
}

std::optional<OptionProblem> contradiction_at(const OptionValues& o, int stage) {
  if (stage < 3 && o.given("prefetch"))
    return OptionProblem{"prefetch", fmt::format("zero{} keeps whole weights: there are none to gather ahead", stage),
                         "write stage: zero3, or leave prefetch out"};
  if (stage < 3 && !o.flag("reshard_after_forward"))
    return OptionProblem{"reshard_after_forward", fmt::format("zero{} keeps whole weights in any case", stage),
                         "write stage: zero3, or leave reshard_after_forward out"};
  if (stage == 1 && o.given("synchronise") && !synchronises_once(o))
    return OptionProblem{"synchronise", "zero1 keeps whole gradients, and synchronises them once per iteration",
                         "write stage: zero2 or zero3, or leave synchronise out"};
  return wrong_overlap(o, stage);
}

// The stage that is given; of a search all that the other options leave, the one that shares out most first.
std::vector<int> stages_of(const OptionValues& o) {
  const int given = static_cast<int>(o.choice("stage")) + 1;
  if (given <= kStages) return {given};
  std::vector<int> stages;
  for (int stage = kStages; stage > 0; --stage)
    if (!contradiction_at(o, stage)) stages.push_back(stage);
  return stages;
}

std::optional<OptionProblem> fsdp_contradiction(const OptionValues& o) {
  const std::vector<int> stages = stages_of(o);
  const int stage = stages.empty() ? kStages : stages.front();
  if (auto wrong = wrong_offload(sharded_grid_of(o, stage).memory.offload)) return wrong;
  return contradiction_at(o, stage);
}

// Micro-batches are the divisors of what a replica takes in an iteration, the largest first, unless given. A grid that cannot be made gives
// the planner's reason later.
void add_micro_batches(const Problem& problem, const GridConfig& config, const std::vector<pcg::Recompute>& recomputations,
                       std::vector<GridConfig>& grids) {
  std::vector<std::int64_t> sizes{config.micro_batch};
  const Attempt<Grid> grid = make_grid(config, problem.cluster.device_count(), problem.training.global_batch);
  if (grid && config.micro_batch == 0) sizes = base::divisors(grid->micro_batch * grid->micro_batches);
  for (const std::int64_t micro_batch : sizes | std::views::reverse)
    for (const pcg::Recompute recompute : recomputations) {
      grids.push_back(config);
      grids.back().micro_batch = micro_batch;
      grids.back().recompute = recompute;
    }
}

// The given values, and every value of what is not given.
std::vector<GridConfig> grids_of(const Problem& problem, const OptionValues& o) {
  std::vector<GridConfig> grids;
  for (const int stage : stages_of(o)) {
    GridConfig grid = sharded_grid_of(o, stage);
    // PyTorch's plans of tensor parallelism give norms a share of the positions each, and blocks their inputs so (torchtitan,
    // parallelize_llama: SequenceParallel, and Shard(1) as the layout of inputs).
    const bool by_default = problem.training.framework == pcg::Framework::pytorch;
    grid.sequence_parallel = grid.tensor > 1 && (o.given("sequence_parallel") ? o.flag("sequence_parallel") : by_default);
    add_micro_batches(problem, grid, o.given("recompute") ? std::vector{grid.recompute} : recomputations_of(problem.model), grids);
  }
  return grids;
}

std::vector<Option> fsdp_options() {
  constexpr const char* kChosen = "the quickest that fits";
  std::vector<Option> options = {
      {"stage", Choice{.words = {"zero1", "zero2", "zero3", "search"}, .by_default = kStages - 1},
       "what is sharded: optimizer state, and gradients (`zero2`), and weights (`zero3`); `search`: the quickest that fits"},
      shard_option(),
      degree_option("tensor", 1, "devices that share each layer"),
      {"sequence_parallel", Flag{false}, "norms and dropouts are cut along the sequence among tensor ranks",
       "`true` with `framework: pytorch`"},
      degree_option("context", 1, "devices that share the positions of a sequence"),
      {"prefetch", WholeNumber{.least = 0, .most = kLargestDegree, .by_default = -1},
       "blocks whose weights are gathered ahead of the one that is computed, at most; `zero3` only", "as the framework does"},
      {"synchronise", Choice{.words = {"iteration", "micro_batch"}},
       "when gradients are reduced to shards: once, from whole ones that are added up; or after each micro-batch",
       "`iteration` for `zero1`, else `micro_batch`"},
      {"reshard_after_forward", Flag{true},
       "weights are freed after the forward pass and gathered again; else kept for the backward pass; `zero3` only"}};
  for (Option& o : memory_options()) {
    if (o.key == "recompute") o.otherwise = kChosen;
    options.push_back(std::move(o));
  }
  options.push_back(micro_batch_option(kChosen));
  options.push_back(overlap_option({"gradients", "parameters"}));
  return with_limits({kDefaultEffort}, "choices estimated or simulated", std::move(options));
}

}  // namespace

void confirm_sharded(const Problem& problem, const SearchContext& context, Budget& budget, Confirmation& confirmation) {
  std::vector<GridConfig> grids;
  for (int stage = kStages; stage > 0; --stage) add_micro_batches(problem, {.zero = stage}, recomputations_of(problem.model), grids);
  Budget own(context, budget.part(kMostOfBudget));
  (void)QuickestSearch(problem, grids, own, confirmation).run();
  budget.count(own.counted());
}

Planner fsdp_planner() {
  return {.kind = "fsdp",
          .about = "Sharded data parallelism: replicas share out optimizer state, gradients and weights; what is not given is chosen.",
          .searches = true,
          .options = fsdp_options(),
          .contradiction = fsdp_contradiction,
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
            const std::vector<GridConfig> grids = grids_of(p, o);
            if (grids.size() == 1) return result_of_rule(grid_plan(p, grids.front(), kName));
            Budget budget(c, limits_of(o));
            Confirmation confirmation(p, c, kName);
            const Attempt<base::Fact> note = QuickestSearch(p, grids, budget, confirmation).run();
            if (!note) return result_of_rule(note.refusal());
            SearchResult r = std::move(confirmation).result(budget);
            r.notes.push_back(*note);
            return r;
          }};
}

}  // namespace search
