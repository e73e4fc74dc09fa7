#include "search/unity/unity.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "search/data_parallel/data_parallel.hpp"
#include "search/mapping/chain.hpp"
#include "search/operators/strategy_plan.hpp"
#include "search/operators/summary.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/deadline.hpp"
#include "search/unity/segments.hpp"

namespace search {
namespace {

// How much of the time of adding up gradients counts, from all of it to none.
constexpr std::array kSyncShares = {1.0, 0.5, 0.25, 0.0};
// What a byte of memory costs, in so many times the seconds of the cheapest plan for the whole memory of a device.
constexpr std::array kPricesOfMemory = {0.0, 0.01, 0.1, 1.0, 10.0};

class UnitySearch {
 public:
  UnitySearch(const Problem& problem, const UnityConfig& config, const SearchContext& context)
      : problem_(problem),
        config_(config),
        deadline_(context, config.budget),
        confirmation_(problem, context, "unity"),
        catalog_(problem, config.most_cut),
        graph_(pcg::with_batch(problem.model, problem.training.global_batch)),
        kinds_(catalog_.kinds_of(graph_)) {}

  SearchResult run() {
    confirm_data_parallel();
    split();
    choose();
    return result();
  }

 private:
  void confirm_data_parallel() {
    const Attempt<pcg::Plan> plan = data_parallel_plan(problem_, {});
    if (plan) confirmation_.confirm(*plan);
  }

  void split() {
    segments_ = segments_of(graph_, config_.segment, std::vector<std::size_t>(graph_.nodes().size(), 0));
    for (const Segment& s : segments_) parts_.push_back(part_of(graph_, s, kinds_, catalog_, shapes_));
    for (const Mapping::Part& p : parts_) links_.push_back({{&p}});
  }

  // The cheapest choices under each weighing of gradients, and, where none fits, under dearer memory.
  void choose() {
    const double memory = problem_.oracle.device(base::DeviceId(0)).memory.value();
    double cheapest_plan = 0;
    for (const double price : kPricesOfMemory) {
      for (const double share : kSyncShares) {
        Shortlists lists(catalog_, {share, price * cheapest_plan / memory}, config_.most_strategies);
        Mapping mapping(problem_.cluster, lists, shapes_, {config_.side_by_side, config_.remember});
        const auto placed = place_chain(mapping, links_, {0, problem_.cluster.device_count()}, deadline_);
        if (!placed || (deadline_.has_passed() && confirmation_.has_plan())) {
          cut_off_ = true;
          return;
        }
        if (cheapest_plan == 0) cheapest_plan = placed->seconds;
        ++weighings_;
        confirmation_.confirm(plan_of(mapping, *placed));
      }
      if (confirmation_.has_plan()) return;
    }
  }

  pcg::Plan plan_of(Mapping& mapping, const PlacedChain& chain) const {
    std::vector<Strategy> strategies(graph_.nodes().size());
    std::vector<const Strategy*> choice(graph_.nodes().size(), nullptr);
    for (std::size_t s = 0; s < segments_.size(); ++s)
      for (std::size_t o = 0; o < segments_[s].operators.size(); ++o) {
        const std::uint32_t node = segments_[s].operators[o];
        strategies[node] = mapping.strategy(kinds_[node], chain.links[s].placed[o]);
        choice[node] = &strategies[node];
      }
    pcg::Plan plan = plan_of_strategies(problem_, graph_, choice);
    plan.summary = summary_of_cuts(plan);
    return plan;
  }

  SearchResult result() {
    SearchResult r = std::move(confirmation_).result(cut_off_);
    r.notes.push_back(fmt::format("{} segments of {} operators, mapped under {} weighings of gradients and memory", segments_.size(),
                                  std::ranges::count_if(kinds_, [](KindNumber k) { return k != kSource; }), weighings_));
    return r;
  }

  const Problem& problem_;
  UnityConfig config_;
  Deadline deadline_;
  Confirmation confirmation_;
  OperatorCatalog catalog_;
  BranchShapes shapes_;
  pcg::Graph graph_;
  std::vector<KindNumber> kinds_;
  std::vector<Segment> segments_;
  std::vector<Mapping::Part> parts_;
  std::vector<Link> links_;
  std::size_t weighings_ = 0;
  bool cut_off_ = false;
};

}  // namespace

SearchResult unity_search(const Problem& problem, const UnityConfig& config, const SearchContext& context) {
  return UnitySearch(problem, config, context).run();
}

Planner unity_planner() {
  const UnityConfig defaults;
  return {
      .kind = "unity",
      .about = "Algebraic rewrites, cuts of every operator and machine mapping chosen together (Unity).",
      .searches = true,
      .options = {{"budget", Duration{defaults.budget}, "the time that the search may take"},
                  {"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = static_cast<std::int64_t>(defaults.most_strategies)},
                   "ways to run an operator that are chosen among, at most: those that cost least by themselves"},
                  {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
                   "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"},
                  {"segment", WholeNumber{.least = 0, .most = 1000000, .by_default = static_cast<std::int64_t>(defaults.segment)},
                   "operators of a segment, at least, where the graph is split; 0: it is not split"}},
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        return unity_search(p,
                            {.budget = o.duration("budget"),
                             .most_strategies = static_cast<std::size_t>(o.whole_number("strategies")),
                             .most_cut = static_cast<int>(o.whole_number("loops")),
                             .segment = static_cast<std::size_t>(o.whole_number("segment"))},
                            c);
      }};
}

}  // namespace search
