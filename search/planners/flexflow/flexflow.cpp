#include "search/planners/flexflow/flexflow.hpp"

#include <algorithm>

#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/options.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

constexpr int kWalks = 5;               // that share the proposals
constexpr int kMostWalks = 2 * kWalks;  // where what they find does not fit
constexpr double kSafety = 0.99;        // of the memory that plans seem to have, once one did not fit

class FlexFlowSearch {
 public:
  FlexFlowSearch(const Problem& problem, const pcg::Graph& graph, const FlexFlowConfig& config, const SearchContext& context,
                 OperatorCatalog& catalog, std::vector<Placement> from)
      : problem_(problem), graph_(graph), config_(config), context_(context), catalog_(catalog), from_(std::move(from)) {}

  SearchResult run() {
    confirm_data_parallel(problem_, Replicas::whole, confirmation_);
    walk();
    SearchResult r = std::move(confirmation_).result(budget_);
    r.notes.emplace_back("proposals-accepted", walk_.accepted(), walk_.proposals(), operators_.nodes.size(), walks_,
                         placements_.found_out());
    return r;
  }

 private:
  // From the start first, then from the best, and from the start once more, as the best may be a dead end.
  void walk() {
    const std::size_t each = std::max<std::size_t>(1, config_.proposals / kWalks);
    walk_.set_room(room_);
    const Position first = walk_.position(from_.empty() ? data_parallel() : from_);
    Position best = first;
    for (; walks_ < kWalks || (walks_ < kMostWalks && !confirmation_.has_plan()); ++walks_) {
      if (budget_.is_spent()) return;
      const double share = (1 - budget_.gone()) / std::max(1, kWalks - walks_);
      const Position found = walk_.run(walks_ == kWalks / 2 ? walk_.position(first.at) : best, each, share, config_.alpha, random_);
      confirm(found);
      if (found.seconds < best.seconds) best = found;
      // With another room.
      best = walk_.position(std::move(best.at));
    }
  }

  void confirm(const Position& found) {
    pcg::Plan plan = plan_of(found);
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    if (!memory.fits()) {
      // Memory other than weights and outputs is not known before.
      room_ = std::min(room_, kSafety * (found.most_bytes - (memory.peak - memory.capacity).value()));
      walk_.set_room(room_);
    }
    confirmation_.confirm(std::move(plan));
  }

  // Each operator cut by samples over all devices; one that cannot be, or that a batch does not divide for, as costs least by itself.
  std::vector<Placement> data_parallel() {
    const int devices = problem_.cluster.device_count();
    const Attempt<std::vector<Strategy>> on_grid = strategies_on_grid(graph_, {}, devices, problem_.training.global_batch);
    const std::vector<Strategy> wanted = on_grid ? *on_grid : std::vector<Strategy>(graph_.nodes().size());
    std::vector<Placement> at;
    for (std::size_t o = 0; o < operators_.nodes.size(); ++o) {
      const DeviceBlock all{0, devices};
      const StrategyTable& table = catalog_.table(operators_.kinds[o], all);
      auto number =
          std::ranges::find(table.strategies, wanted[operators_.nodes[o]].sharding, &Strategy::sharding) - table.strategies.begin();
      if (number == std::ssize(table.strategies))
        number = std::ranges::min_element(table.costs, {}, [](const StrategyCost& c) { return seconds_of(c, {}); }) - table.costs.begin();
      at.push_back({all, static_cast<std::uint32_t>(number)});
    }
    return at;
  }

  pcg::Plan plan_of(const Position& p) {
    std::vector<Strategy> strategies(graph_.nodes().size());
    for (std::size_t o = 0; o < p.at.size(); ++o)
      strategies[operators_.nodes[o]] = catalog_.strategy(operators_.kinds[o], p.at[o].block, p.at[o].strategy);
    pcg::Plan plan = plan_of_strategies(problem_, graph_, strategies);
    plan.summary = summary_of_cuts(plan);
    return plan;
  }

  const Problem& problem_;
  const pcg::Graph& graph_;
  FlexFlowConfig config_;
  const SearchContext& context_;
  base::Random random_{context_.seed};
  Budget budget_{context_, config_.budget};
  Confirmation confirmation_{problem_, context_, "flexflow", Ties::to_quickest};
  OperatorCatalog& catalog_;
  std::vector<Placement> from_;
  Placements placements_{problem_.cluster, catalog_};
  OperatorGraph operators_ = operator_graph(graph_, catalog_.kinds_of(graph_), catalog_);
  Walk walk_{operators_, placements_, problem_.cluster.device_count(), budget_};
  double room_ = problem_.oracle.device(base::DeviceId(0)).memory.value();  // bytes
  int walks_ = 0;
};

}  // namespace

SearchResult flexflow_search(const Problem& problem, const pcg::Graph& graph, const FlexFlowConfig& config, const SearchContext& context,
                             OperatorCatalog& catalog, std::vector<Placement> from) {
  return FlexFlowSearch(problem, graph, config, context, catalog, std::move(from)).run();
}

SearchResult flexflow_search(const Problem& problem, const pcg::Graph& graph, const FlexFlowConfig& config, const SearchContext& context) {
  OperatorCatalog catalog(problem, config.most_cut);
  return flexflow_search(problem, graph, config, context, catalog, {});
}

FlexFlowConfig flexflow_config(const OptionValues& o) {
  return {.budget = limits_of(o),
          .proposals = static_cast<std::size_t>(o.whole_number("proposals")),
          .alpha = o.real_number("alpha"),
          .most_cut = static_cast<int>(o.whole_number("loops"))};
}

Planner flexflow_planner() {
  const FlexFlowConfig defaults;
  return {
      .kind = "flexflow",
      .about = "Every operator cut in its own way on its own devices, found by a random walk over a simulated schedule (FlexFlow).",
      .searches = true,
      .options = with_limits({defaults.budget.seconds}, "changes of the placement, and of the graph where it is rewritten,",
                             {{"proposals", WholeNumber{.by_default = static_cast<std::int64_t>(defaults.proposals)},
                               "changes of one operator, or of two that are neighbours, that are tried"},
                              {"alpha", RealNumber{.least = 1, .by_default = defaults.alpha},
                               "a change that makes the iteration longer, by x times an operator's mean share of it, is accepted with the "
                               "probability exp(-alpha x) when a walk ends, and exp(-x) when it begins"},
                              {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
                               "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"},
                              space_option()}),
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        return flexflow_search(p, pcg::with_batch(p.model, p.training.global_batch), flexflow_config(o), c);
      }};
}

}  // namespace search
