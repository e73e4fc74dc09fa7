#include "search/planners/alpa/alpa.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "search/solve/memory_constrained/constrained_operators.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

constexpr double kAnyBytes = std::numeric_limits<double>::max();  // finite, so that bytes may cost nothing

class OneStage {
 public:
  OneStage(const Problem& problem, std::size_t most_strategies, OperatorCatalog& catalog, Budget& budget, Confirmation& confirmation)
      : problem_(problem), most_strategies_(most_strategies), catalog_(catalog), budget_(budget), confirmation_(confirmation) {}

  std::vector<base::Fact> run() {
    choose();
    return notes();
  }

 private:
  // The cheapest choices under each objective of gradients, and, where these do not fit, the cheapest within the memory.
  void choose() {
    for (const double share : kSynchronisationShares) {
      if (!budget_.take()) return;
      const Objective objective{share, 0};
      Shortlists lists(catalog_, objective, most_strategies_, Shortlists::kAnyCuts, {}, true);
      ConstrainedOperators operators(lists, all_devices_, objective);
      operators.add(graph_, kinds_);
      const ConstrainedChoice chosen = operators.cheapest(kAnyBytes, budget_);
      if (chosen.choice.empty() || (budget_.time_is_up() && confirmation_.has_plan())) return;
      exact_ = exact_ && chosen.is_optimal;
      ++objectives_;
      if (const double room = confirm(chosen); room < 0) choose_within(operators.bytes(chosen.choice) + room, operators);
    }
  }

  // Returns: bytes that are left on the device that has least of them, negative where the plan does not fit.
  double confirm(const ConstrainedChoice& chosen) {
    std::vector<Strategy> strategies(kinds_.size());
    std::size_t next = 0;
    for (std::size_t n = 0; n < kinds_.size(); ++n)
      if (kinds_[n] != kSource) strategies[n] = catalog_.table(kinds_[n], all_devices_).strategies[chosen.choice[next++]];
    pcg::Plan plan = plan_of_strategies(problem_, graph_, strategies);
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    plan.name = "operators";
    plan.summary = summary_of_cuts(plan);
    confirmation_.confirm(std::move(plan), base::Seconds(chosen.seconds));
    return memory.capacity.value() - memory.peak.value();
  }

  void choose_within(double bytes, ConstrainedOperators& operators) {
    MemoryRoom memory(bytes);
    std::optional<WithinMemory> found;
    for (bool again = true; again;) {
      const ConstrainedChoice chosen = operators.cheapest(memory.limit(), budget_);
      if (chosen.choice.empty() || (budget_.time_is_up() && confirmation_.has_plan())) break;
      const double room = confirm(chosen);
      if (room >= 0 && (!found || chosen.seconds < found->seconds)) found = {chosen.seconds, chosen.bound, chosen.is_optimal};
      again = memory.tell(operators.bytes(chosen.choice), room) && (chosen.fits || room >= 0);
    }
    if (found) within_memory_.push_back(*found);
  }

  [[nodiscard]] std::vector<base::Fact> notes() {
    if (objectives_ == 0) return {base::Fact("operators-not-cut")};
    std::set<KindNumber> kinds(kinds_.begin(), kinds_.end());
    kinds.erase(kSource);
    std::size_t strategies = 0;
    for (const KindNumber k : kinds) strategies += catalog_.table(k, all_devices_).costs.size();
    const auto operators = kinds_.size() - static_cast<std::size_t>(std::ranges::count(kinds_, kSource));
    std::vector<base::Fact> notes = {
        base::Fact("strategies-chosen", operators, kinds.size(), strategies, most_strategies_, exact_, objectives_)};
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
  std::size_t most_strategies_;
  OperatorCatalog& catalog_;
  Budget& budget_;
  Confirmation& confirmation_;
  pcg::Graph graph_ = pcg::with_batch(problem_.model, problem_.training.global_batch);
  std::vector<KindNumber> kinds_ = catalog_.kinds_of(graph_);  // per node
  DeviceBlock all_devices_{0, problem_.cluster.device_count()};
  std::size_t objectives_ = 0;
  bool exact_ = true;
  std::vector<WithinMemory> within_memory_;
};

}  // namespace

std::vector<base::Fact> confirm_one_stage(const Problem& problem, std::size_t most_strategies, OperatorCatalog& catalog, Budget& budget,
                                          Confirmation& confirmation) {
  return OneStage(problem, most_strategies, catalog, budget, confirmation).run();
}

}  // namespace search
