#include "search/intra_op/intra_op.hpp"

#include <fmt/core.h>

#include <array>

#include "search/data_parallel/data_parallel.hpp"
#include "search/operators/operator_space.hpp"
#include "search/operators/summary.hpp"
#include "search/pipelines/pipelines.hpp"

namespace search {
namespace {

class IntraOpSearch {
 public:
  IntraOpSearch(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, const Deadline& deadline,
                Confirmation& confirmation)
      : problem_(problem), config_(config), catalog_(catalog), deadline_(deadline), confirmation_(confirmation) {}

  std::string run() {
    confirm_data_parallel();
    const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch);
    OperatorSpace space(catalog_, graph, problem_.cluster.device_count());
    choose(space);
    accumulate();
    return note(space);
  }

 private:
  void confirm_data_parallel() {
    const Attempt<pcg::Plan> plan = data_parallel_plan(problem_, {});
    if (plan && confirmation_.confirm(*plan)) has_plan_ = true;
  }

  // The cheapest choices under each weighing of gradients, and, where none fits, under dearer memory.
  void choose(OperatorSpace& space) {
    const double memory = problem_.oracle.device(base::DeviceId(0)).memory.value();
    double cheapest_plan = 0;
    for (const double price : kMemoryPrices) {
      for (const double share : kSynchronisationShares) {
        const auto chosen = space.cheapest({share, price * cheapest_plan / memory}, config_.most_strategies, deadline_);
        if (!chosen) return;
        if (cheapest_plan == 0) cheapest_plan = chosen->seconds;
        exact_ = exact_ && chosen->is_optimal;
        pcg::Plan plan = space.plan(problem_, chosen->way);
        ++weighings_;
        if (deadline_.has_passed() && confirmation_.has_plan()) return;
        plan.summary = summary_of_cuts(plan);
        if (confirmation_.confirm(std::move(plan), price == 0 ? std::optional(base::Seconds(chosen->seconds)) : std::nullopt))
          has_plan_ = true;
      }
      if (has_plan_) return;
    }
  }

  // Of several micro-batches, whose activations are kept one after another.
  void accumulate() {
    BranchShapes branch_shapes;
    const PipelineConfig pipelines{.most_strategies = config_.most_strategies, .most_cut = config_.most_cut, .side_by_side = false};
    for (PipelineSetting setting : settings_worth_a_look(problem_.training.global_batch, {})) {
      if (setting.micro_batches == 1) continue;
      if (deadline_.has_passed()) return;
      if (const auto best = confirmation_.best_time()) setting.to_beat = best->value();
      const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch / setting.micro_batches);
      for (PipelinePlan& p : pipeline_plans(problem_, graph, setting, std::array{StageShape{.most_stages = 1}}, pipelines, catalog_,
                                            branch_shapes, deadline_))
        confirmation_.confirm(std::move(p.plan), p.expected);
    }
  }

  [[nodiscard]] std::string note(const OperatorSpace& space) const {
    return fmt::format(
        "{} operators of {} kinds can run in {} ways; of those of each kind that cost least by themselves, {} at most, the cheapest "
        "together were chosen {}, for {} weighings of gradients and memory",
        space.operators().size(), space.kinds(), space.ways_of_kinds(), config_.most_strategies,
        exact_ ? "exactly" : "but for tables that were too large", weighings_);
  }

  const Problem& problem_;
  const IntraOpConfig& config_;
  OperatorCatalog& catalog_;
  const Deadline& deadline_;
  Confirmation& confirmation_;
  std::size_t weighings_ = 0;
  bool exact_ = true;
  bool has_plan_ = false;  // of the whole batch
};

}  // namespace

std::string confirm_intra_op(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, const Deadline& deadline,
                             Confirmation& confirmation) {
  return IntraOpSearch(problem, config, catalog, deadline, confirmation).run();
}

SearchResult intra_op_search(const Problem& problem, const IntraOpConfig& config, const SearchContext& context) {
  const Deadline deadline(context, config.budget);
  Confirmation confirmation(problem, context, "intra-op");
  OperatorCatalog catalog(problem, config.most_cut);
  const std::string note = confirm_intra_op(problem, config, catalog, deadline, confirmation);
  SearchResult r = std::move(confirmation).result(deadline.has_passed());
  r.notes.push_back(note);
  return r;
}

Planner intra_op_planner() {
  const IntraOpConfig defaults;
  return {
      .kind = "intra-op",
      .about =
          "Every operator cut in its own way over all GPUs, without a pipeline; the cheapest choices together of those that are looked at.",
      .searches = true,
      .options = {{"budget", Duration{defaults.budget}, "the time that the search may take"},
                  {"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = static_cast<std::int64_t>(defaults.most_strategies)},
                   "ways to run an operator that are chosen among, at most: those that cost least by themselves"},
                  {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
                   "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"}},
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        return intra_op_search(p,
                               {.budget = o.duration("budget"),
                                .most_strategies = static_cast<std::size_t>(o.whole_number("strategies")),
                                .most_cut = static_cast<int>(o.whole_number("loops"))},
                               c);
      }};
}

}  // namespace search
