#pragma once
// The last step of a search: the few plans that are best by their costs are simulated whole, and the best of those is the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/search_result.hpp"

namespace search {

// Plans whose times differ by less are a tie: forecasts are not so good that the difference means anything.
inline constexpr double kTie = 1.01;
// Of such plans the plainest is the answer, and the note says so; or the quickest, so that a search that asks others is no worse than what
// it asks, and the note names the plainest.
enum class Ties { to_plainest, to_quickest };

// Returns: how many layers each virtual stage has.
[[nodiscard]] std::vector<int> layers_per_stage(const pcg::Plan& plan);

// Returns: how many mechanisms a plan has beyond whole replicas: kinds of cuts, pipelines, what saves memory, exchanges, rewrites, ...
[[nodiscard]] int mechanisms_of(const pcg::Plan& plan);

class Confirmation {
 public:
  // All outlive the object. `name`: of every plan.
  Confirmation(const Problem& problem, const SearchContext& context, std::string name, Ties ties = Ties::to_plainest);
  Confirmation(const Problem& problem, SearchContext&& context, std::string name, Ties ties = Ties::to_plainest) = delete;

  // Simulates a plan, unless it does not fit or was confirmed before. Its summary says what it is, its name the part of the search that
  // made it. `expected`: what the search's own costs make of an iteration; a note on the best plan gives both.
  // Returns: its time; nullopt: not simulated.
  std::optional<base::Seconds> confirm(pcg::Plan plan, std::optional<base::Seconds> expected = {});
  // A plan that has been simulated already; it counts once.
  void take(pcg::Plan plan, sim::SimulationResult simulation, std::optional<base::Seconds> expected = {});
  // A plan that does not fit. The one that lacks least is kept, and of the first few their names: is_telling() says whether this is one.
  void miss(pcg::Plan plan, const sim::MemoryUse& memory);
  [[nodiscard]] bool is_telling(const sim::MemoryUse& memory) const;
  [[nodiscard]] bool has_plan() const { return !simulated_.empty(); }
  [[nodiscard]] std::size_t simulated() const { return simulated_.size(); }
  [[nodiscard]] std::optional<base::Seconds> best_time() const;
  // The quickest of the plans that fit, until another is confirmed; nullptr: there is none.
  [[nodiscard]] const pcg::Plan* best_plan() const;
  // The best plan and what lost; without one, what lacks least memory.
  [[nodiscard]] SearchResult result(const Budget& budget) &&;

 private:
  struct Simulated {
    pcg::Plan plan;
    sim::SimulationResult simulation;
    std::optional<base::Seconds> expected;
    std::string found_by;
    Surety surety;
    [[nodiscard]] base::Seconds time() const { return simulation.iteration_time; }
  };
  [[nodiscard]] const Simulated* quickest() const;
  [[nodiscard]] base::Seconds rank(const Simulated& s) const { return context_.ranks_surely ? s.surety.high : s.time(); }
  // The answer.
  [[nodiscard]] Simulated& best(SearchResult& r);
  void note_surety(const Simulated& best, SearchResult& r) const;
  [[nodiscard]] SearchResult no_plan(SearchResult r, std::optional<Limit> ended_by);

  const Problem& problem_;
  const SearchContext& context_;
  std::string name_;
  Ties ties_;
  std::vector<Simulated> simulated_;
  std::vector<LostCandidate> too_large_;  // the first few
  std::optional<pcg::Plan> closest_;      // of those that do not fit
  std::optional<NeedsMemory> shortage_;   // its own
  std::uint64_t candidates_ = 0;
};

}  // namespace search
