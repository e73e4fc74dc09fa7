#include "search/intra_op/intra_op.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "search/data_parallel/data_parallel.hpp"
#include "search/operators/operator_space.hpp"
#include "search/problem/deadline.hpp"

namespace search {
namespace {

constexpr std::size_t kMostSummarised = 4;  // kinds of cuts that a summary names

// How much of the time of adding up gradients counts, from all of it to none.
constexpr std::array kShares = {1.0, 0.5, 0.25, 0.0};
// What a byte of memory costs, in so many times the seconds of the cheapest plan for the whole memory of a device.
constexpr std::array kMemoryPrices = {0.0, 0.01, 0.1, 1.0, 10.0};

// "b 4 x n 2", "copies 8".
std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& s) {
  std::vector<std::string> parts;
  for (std::size_t l = 0; l < s.degrees.size(); ++l)
    if (s.degrees[l] > 1) parts.push_back(fmt::format("{} {}", space.loops[l].name, s.degrees[l]));
  if (s.copies > 1) parts.push_back(fmt::format("copies {}", s.copies));
  return parts.empty() ? "whole" : fmt::format("{}", fmt::join(parts, " x "));
}

// The commonest cuts first: "23 operators b 8, 4 b 2 x n 4".
std::string summary_of_cuts(const pcg::Plan& plan) {
  std::map<std::string, int> count;
  for (const pcg::PcgNode& n : plan.pcg.nodes())
    if (n.computes()) ++count[cut_text(*n.space, n.sharding)];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostSummarised); ++i)
    text += fmt::format("{}{} operator{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].second == 1 ? "" : "s", sorted[i].first);
  if (sorted.size() > kMostSummarised) text += fmt::format(", {} other cuts", sorted.size() - kMostSummarised);
  return text;
}

struct CutPlan {
  pcg::Plan plan;
  sim::SimulationResult simulation;
};

class IntraOpSearch {
 public:
  IntraOpSearch(const Problem& problem, const IntraOpConfig& config, const SearchContext& context)
      : problem_(problem), deadline_(context, config.budget), context_(context), config_(config) {}

  SearchResult run() {
    confirm_data_parallel();
    const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch);
    OperatorSpace space(problem_, graph, problem_.cluster.device_count(), config_.most_cut);
    choose(space);
    return result(space);
  }

 private:
  void confirm_data_parallel() {
    const Attempt<pcg::Plan> plan = data_parallel_plan(problem_, {});
    if (!plan) return;
    pcg::Plan named = *plan;
    named.name = "intra-op";
    confirm(std::move(named));
  }

  // The cheapest choices under each weighing of gradients, and, where none fits, under dearer memory.
  void choose(OperatorSpace& space) {
    const double memory = problem_.oracle.device(base::DeviceId(0)).memory.value();
    double cheapest_plan = 0;
    for (const double price : kMemoryPrices) {
      for (const double share : kShares) {
        const auto chosen = space.cheapest({share, price * cheapest_plan / memory}, config_.most_strategies, deadline_);
        if (!chosen) {
          cut_off_ = true;
          return;
        }
        if (cheapest_plan == 0) cheapest_plan = chosen->seconds;
        exact_ = exact_ && chosen->is_optimal;
        pcg::Plan plan = space.plan(chosen->strategy);
        ++weighings_;
        if (std::ranges::any_of(seen_, [&](const pcg::Plan& p) { return p.pcg == plan.pcg && p.mapping == plan.mapping; })) continue;
        seen_.push_back(plan);
        plan.name = "intra-op";
        plan.summary = summary_of_cuts(plan);
        if (deadline_.has_passed() && !simulated_.empty()) {
          cut_off_ = true;
          return;
        }
        confirm(std::move(plan));
      }
      if (!simulated_.empty()) return;
    }
  }

  void confirm(pcg::Plan plan) {
    ++candidates_;
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    if (!memory.fits()) {
      if (!closest_ || memory.peak < closest_->memory.needed) closest_ = ClosestMiss{plan.summary, {memory.peak, memory.capacity}};
      return;
    }
    sim::SimulationResult simulation = problem_.oracle.plan(plan);
    if (context_.progress) context_.progress(fmt::format("{}: {:.4g} s", plan.summary, simulation.iteration_time.value()));
    simulated_.push_back({std::move(plan), std::move(simulation)});
  }

  SearchResult result(const OperatorSpace& space) {
    SearchResult r{.termination = termination(), .candidates = candidates_};
    std::size_t strategies = 0;
    for (std::uint32_t k = 0; k < space.kinds().kinds.size(); ++k) strategies += space.strategies(k).size();
    r.notes.push_back(fmt::format(
        "{} operators of {} kinds can run in {} ways; of those of each kind that cost least by themselves, {} at most, the cheapest "
        "together were chosen {}, for {} weighings of gradients and memory",
        space.operators().size(), space.kinds().kinds.size(), strategies, config_.most_strategies,
        exact_ ? "exactly" : "but for tables that were too large", weighings_));
    if (simulated_.empty()) return r;
    const auto best = std::ranges::min_element(simulated_, {}, [](const CutPlan& p) { return p.simulation.iteration_time; });
    for (const CutPlan& p : simulated_)
      if (&p != &*best) r.lost.push_back({p.plan.summary, Slower{p.simulation.iteration_time, best->simulation.iteration_time}});
    std::ranges::stable_sort(r.lost, {}, [](const LostCandidate& l) { return std::get<Slower>(l.why).time; });
    r.objective = best->simulation.iteration_time;
    r.best = std::move(best->plan);
    r.simulation = std::move(best->simulation);
    return r;
  }

  [[nodiscard]] Termination termination() const {
    if (simulated_.empty())
      return cut_off_ || !closest_ ? Termination::nothing_found(Limit::time) : Termination::infeasible(BindingConstraint(*closest_));
    return Termination::feasible(cut_off_ ? Limit::time : Limit::candidates);
  }

  const Problem& problem_;
  Deadline deadline_;
  const SearchContext& context_;
  IntraOpConfig config_;
  std::vector<pcg::Plan> seen_;
  std::size_t weighings_ = 0;
  std::vector<CutPlan> simulated_;
  std::optional<ClosestMiss> closest_;
  std::uint64_t candidates_ = 0;
  bool cut_off_ = false, exact_ = true;
};

}  // namespace

SearchResult intra_op_search(const Problem& problem, const IntraOpConfig& config, const SearchContext& context) {
  return IntraOpSearch(problem, config, context).run();
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
