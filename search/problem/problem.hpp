#pragma once
// The question that every planner answers, and what surrounds a search without being part of the question.

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"

namespace search {

// Requires: the referenced objects outlive every call that takes the problem. `model` may have any batch: planners set it by
// pcg::with_batch.
struct Problem {
  const pcg::Graph& model;
  const base::Yaml& model_section;  // goes into the plan, so that the plan can be checked alone
  const topology::Cluster& cluster;
  pcg::TrainingConfig training;
  const sim::Oracle& oracle;
};

// How sure a forecast is.
struct Surety {
  base::Seconds high;       // the upper end of its interval
  std::size_t points = 0;   // measured iterations of its kind
  bool is_measured = true;  // these are enough to know the kind by
};

// Effort and randomness come in from outside: with the same seed, and unless the wall clock ends a search, the answer is the same.
struct SearchContext {
  std::uint64_t seed = 1;
  std::function<base::Seconds()> clock;            // effort since any start (sim::Oracle::effort); empty: none is counted
  std::function<void(base::Seconds)> spend;        // adds to the effort what a step costs that the oracle does not see; may be empty
  std::function<bool()> overdue;                   // the wall clock's safety net: a search ends at once; empty: never
  std::function<void(std::string_view)> progress;  // may be empty
  std::function<bool()> interrupted;               // a search ends at once, with the best plan so far; empty: never
  std::function<Surety(const pcg::Plan&, const sim::SimulationResult&)> surety;  // of a simulated plan; empty: nothing is known of it
  bool ranks_surely = false;  // the best plan is that with the least upper end of its interval; else the quickest
  int jobs = 1;               // worker processes that it may use; the answer is the same
};

}  // namespace search
