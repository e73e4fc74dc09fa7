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

class Confirmation {
 public:
  // All outlive the object. `name`: of every plan.
  Confirmation(const Problem& problem, const SearchContext& context, std::string name);

  // Simulates a plan, unless it does not fit or was confirmed before. Its summary says what it is, its name the part of the search that
  // made it. `expected`: what the search's own costs make of an iteration; a note on the best plan gives both. Returns: its time; nullopt:
  // not simulated.
  std::optional<base::Seconds> confirm(pcg::Plan plan, std::optional<base::Seconds> expected = {});
  // A plan that has been simulated already; it counts once.
  void take(pcg::Plan plan, sim::SimulationResult simulation, std::optional<base::Seconds> expected = {});
  [[nodiscard]] bool has_plan() const { return !simulated_.empty(); }
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
    [[nodiscard]] base::Seconds time() const { return simulation.iteration_time; }
  };
  struct TooLarge {
    pcg::Plan plan;
    NeedsMemory shortage;
  };
  [[nodiscard]] const Simulated* best() const;

  const Problem& problem_;
  const SearchContext& context_;
  std::string name_;
  std::vector<Simulated> simulated_;
  std::vector<TooLarge> too_large_;
  std::uint64_t candidates_ = 0;
};

}  // namespace search
