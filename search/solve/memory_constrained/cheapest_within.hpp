#pragma once
// The cheapest choices that fit within a limit of bytes, exactly where time allows. Where those that are cheapest anyhow do not fit, bytes
// get a price: the best one makes the bound that Lagrangian relaxation gives (Handler and Zang, Networks 10, 1980: one constraint, found
// from line to line) and choices that fit. Choices whose min-marginal at that price is above these are left out (reduced-cost fixing); what
// is left goes to fronts of costs and bytes (byte_fronts.hpp). Where these are too large, the answer is the best that is known, with the bound.

#include <functional>
#include <limits>

#include "search/problem/budget.hpp"
#include "search/solve/memory_constrained/byte_fronts.hpp"

namespace search {

struct ConstrainedEffort {
  double most_entries = 1e7;  // of all tables of an elimination
  FrontLimits fronts;
};

struct ConstrainedChoice {
  std::vector<std::uint32_t> choice;  // empty: the time was up first. Where `fits` is false, those that take the fewest bytes
  bool fits = false;
  bool is_optimal = false;  // nothing that fits is cheaper by a millionth; or nothing fits
  double seconds = std::numeric_limits<double>::infinity();
  double bound = -std::numeric_limits<double>::infinity();  // no choices that fit cost less
};

// Finds out what pairs of these choices cost, where costs are bounds of it until someone asks; the problem's costs are others then, and
// none less. Returns: whether anything was not known before. Empty: all is known.
using FindOut = std::function<bool(const std::vector<std::uint32_t>&)>;

// Requires: costs are finite. Cost: some ten eliminations, and what is left of the problem.
[[nodiscard]] ConstrainedChoice cheapest_within(const ConstrainedProblem& problem, const FindOut& find_out, const Budget& budget,
                                                const ConstrainedEffort& effort = {});

}  // namespace search
