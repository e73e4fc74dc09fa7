#include "search/planners/intra_op/intra_op.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "search/cost/estimate.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/problem/options.hpp"
#include "search/solve/memory_constrained/constrained_operators.hpp"
#include "search/solve/operators/operator_space.hpp"
#include "search/solve/operators/strategies.hpp"
#include "search/solve/stages/pipelines.hpp"

namespace search {
namespace {

constexpr std::size_t kFewStrategies = 6;  // strategies of an operator in a first pass, and plain ones

class IntraOpSearch {
 public:
  IntraOpSearch(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, Budget& budget, Confirmation& confirmation)
      : problem_(problem), config_(config), catalog_(catalog), budget_(budget), confirmation_(confirmation) {}

  std::vector<base::Fact> run() {
    confirm_data_parallel(problem_, Replicas::whole, confirmation_);
    if (!confirmation_.has_plan()) confirm_low_memory();
    const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch);
    OperatorSpace space(catalog_, graph, problem_.cluster.device_count());
    choose(space, graph);
    accumulate();
    return notes_on(space);
  }

 private:
  [[nodiscard]] PipelineConfig pipelines(std::size_t most_strategies) const {
    return {.most_strategies = most_strategies, .most_cut = config_.most_cut, .side_by_side = false};
  }

  // Where data parallelism does not fit: few strategies of each operator, for the settings that keep least, until a plan fits, so that
  // there is an answer long before all strategies are compared.
  void confirm_low_memory() {
    BranchShapes branch_shapes;
    const PipelineConfig few = pipelines(std::min(config_.most_strategies, kFewStrategies));
    for (const PipelineSetting& setting : candidate_settings(problem_.training.global_batch, {})) {
      if (setting.recompute != pcg::Recompute::full || setting.zero == 0) continue;
      if (confirmation_.has_plan() || !budget_.take()) return;
      for (PipelinePlan& p : one_stage(setting, few, branch_shapes)) confirmation_.confirm(std::move(p.plan), p.expected);
    }
  }

  // The cheapest plan of micro-batches whose gradients are accumulated.
  std::vector<PipelinePlan> one_stage(const PipelineSetting& setting, const PipelineConfig& config, BranchShapes& branch_shapes) {
    const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch / setting.micro_batches);
    return pipeline_plans(problem_, graph, setting, std::array{StageShape{.most_stages = 1}}, config, catalog_, branch_shapes, budget_);
  }

  // The cheapest choices under each objective of gradients, and, where these do not fit, the cheapest within the memory.
  void choose(OperatorSpace& space, const pcg::Graph& graph) {
    for (const double share : kSynchronisationShares) {
      if (!budget_.take()) return;
      const auto chosen = space.cheapest({share, 0}, config_.most_strategies, budget_);
      if (!chosen) return;
      exact_ = exact_ && chosen->is_optimal;
      ++objectives_;
      if (budget_.time_is_up() && confirmation_.has_plan()) return;
      const double room = confirm(space, chosen->strategy, chosen->seconds);
      if (room < 0) choose_within_memory(space, graph, {share, 0}, chosen->strategy, room);
    }
  }

  // Returns: bytes that are left on the device that has least of them, negative where the plan does not fit.
  double confirm(const OperatorSpace& space, const std::vector<std::uint32_t>& strategy, double seconds) {
    pcg::Plan plan = space.plan(problem_, strategy);
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    plan.name = "intra-op";
    plan.summary = summary_of_cuts(plan);
    confirmation_.confirm(std::move(plan), base::Seconds(seconds));
    return memory.capacity.value() - memory.peak.value();
  }

  void choose_within_memory(const OperatorSpace& space, const pcg::Graph& graph, const Objective& objective,
                            const std::vector<std::uint32_t>& too_large, double room) {
    Shortlists lists(catalog_, objective, config_.most_strategies, Shortlists::kAnyCuts, {}, true);
    ConstrainedOperators operators(lists, {0, problem_.cluster.device_count()}, objective);
    const std::vector<KindNumber> kinds = catalog_.kinds_of(graph);
    std::vector<std::uint32_t> number(kinds.size(), 0);
    for (const std::uint32_t node : space.operators()) {
      number[node] = operators.add(kinds[node]);
      for (std::uint32_t i = 0; i < graph.nodes()[node].inputs.size(); ++i)
        if (const auto edge = catalog_.edge_at(graph, kinds, node, i))
          operators.join(number[graph.nodes()[node].inputs[i].node.value], number[node], *edge);
    }
    MemoryRoom memory(operators.bytes(too_large) + room);
    std::optional<WithinMemory> found;
    for (bool again = true; again;) {
      const ConstrainedChoice chosen = operators.cheapest(memory.limit(), budget_);
      if (chosen.choice.empty() || (budget_.time_is_up() && confirmation_.has_plan())) break;
      room = confirm(space, chosen.choice, chosen.seconds);
      if (room >= 0 && (!found || chosen.seconds < found->seconds)) found = {chosen.seconds, chosen.bound, chosen.is_optimal};
      again = memory.tell(operators.bytes(chosen.choice), room) && (chosen.fits || room >= 0);
    }
    if (found) within_memory_.push_back(*found);
  }

  // Plans of several micro-batches, whose activations are kept one after another. Those come first that are quickest with few strategies of
  // each operator, so that the best so far is good whenever the search ends.
  void accumulate() {
    BranchShapes branch_shapes;
    const PipelineConfig few = pipelines(std::min(config_.most_strategies, kFewStrategies));
    PipelineConfig all = pipelines(config_.most_strategies);
    all.within_memory = true;
    std::vector<std::pair<base::Seconds, PipelineSetting>> by_promise;
    for (const PipelineSetting& setting : candidate_settings(problem_.training.global_batch, {})) {
      if (setting.micro_batches == 1) continue;
      if (!budget_.take()) break;
      base::Seconds least(std::numeric_limits<double>::infinity());
      for (const PipelinePlan& p : one_stage(setting, few, branch_shapes))
        if (problem_.oracle.memory(p.plan).fits()) least = std::min(least, estimate(p.plan, problem_.oracle));
      by_promise.emplace_back(least, setting);
    }
    std::ranges::stable_sort(by_promise, {}, &std::pair<base::Seconds, PipelineSetting>::first);
    for (auto& [least, setting] : by_promise) {
      if (!budget_.take()) return;
      if (const auto best = confirmation_.best_time()) setting.to_beat = best->value();
      for (PipelinePlan& p : one_stage(setting, all, branch_shapes)) confirmation_.confirm(std::move(p.plan), p.expected);
    }
  }

  [[nodiscard]] std::vector<base::Fact> notes_on(const OperatorSpace& space) const {
    if (objectives_ == 0) return {base::Fact("operators-not-cut")};
    std::vector<base::Fact> notes = {base::Fact("strategies-chosen", space.operators().size(), space.kinds(), space.strategies_of_kinds(),
                                                config_.most_strategies, exact_, objectives_)};
    if (within_memory_.empty()) return notes;
    double gap = 0;
    for (const WithinMemory& w : within_memory_) gap = std::max(gap, w.bound > 0 ? w.seconds / w.bound - 1 : 1);
    if (std::ranges::all_of(within_memory_, &WithinMemory::is_proved)) notes.emplace_back("memory-limit-proved", within_memory_.size());
    else if (gap < 1) notes.emplace_back("memory-limit-gap", within_memory_.size(), gap);
    else notes.emplace_back("memory-limit-unknown-gap", within_memory_.size());
    return notes;
  }

  // Choices under an objective whose cheapest choices did not fit.
  struct WithinMemory {
    double seconds = 0, bound = 0;
    bool is_proved = false;
  };

  const Problem& problem_;
  const IntraOpConfig& config_;
  OperatorCatalog& catalog_;
  Budget& budget_;
  Confirmation& confirmation_;
  std::size_t objectives_ = 0;
  bool exact_ = true;
  std::vector<WithinMemory> within_memory_;
};

}  // namespace

std::vector<base::Fact> confirm_intra_op(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, Budget& budget,
                                         Confirmation& confirmation) {
  return IntraOpSearch(problem, config, catalog, budget, confirmation).run();
}

SearchResult intra_op_search(const Problem& problem, const IntraOpConfig& config, const SearchContext& context) {
  Budget budget(context, config.budget);
  Confirmation confirmation(problem, context, "intra-op");
  OperatorCatalog catalog(problem, config.most_cut);
  const std::vector<base::Fact> notes = confirm_intra_op(problem, config, catalog, budget, confirmation);
  SearchResult r = std::move(confirmation).result(budget);
  r.notes.insert(r.notes.end(), notes.begin(), notes.end());
  return r;
}

Planner intra_op_planner() {
  const IntraOpConfig defaults;
  return {
      .kind = "intra-op",
      .about =
          "Every operator cut in its own way over all GPUs, without a pipeline; the cheapest choices together of those that are compared.",
      .searches = true,
      .options = with_limits(
          defaults.budget.seconds, "objectives of gradients, and choices of micro-batches, recomputation and shared updates,",
          {{"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = static_cast<std::int64_t>(defaults.most_strategies)},
            "strategies of an operator that are chosen among, at most: those that cost least by themselves"},
           {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
            "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"}}),
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        return intra_op_search(p,
                               {.budget = limits_of(o),
                                .most_strategies = static_cast<std::size_t>(o.whole_number("strategies")),
                                .most_cut = static_cast<int>(o.whole_number("loops"))},
                               c);
      }};
}

}  // namespace search
