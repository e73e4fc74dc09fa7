#pragma once
// Choices within a limit of bytes: the memory limit of Alpa's integer program (Zheng et al., OSDI'22, section 4.2), where the bytes of a
// device are a sum over operators. Start here:
//   cheapest_within.hpp       ConstrainedProblem; cheapest_within(): the choices, with a bound
//   constrained_operators.hpp ConstrainedOperators: a problem made of operators; MemoryRoom: which limit matches the simulator

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/solve/operators/elimination.hpp"

namespace search {

struct ConstrainedProblem {
  ChoiceProblem choices;
  std::vector<std::vector<double>> bytes;  // [operator][choice]; neither costs nor bytes are negative
  double limit = 0;                        // of their sum
};

[[nodiscard]] inline double bytes_of(const ConstrainedProblem& problem, const std::vector<std::uint32_t>& choice) {
  double sum = 0;
  for (std::size_t o = 0; o < choice.size(); ++o) sum += problem.bytes[o][choice[o]];
  return sum;
}

// Sums in another order differ by their last digits.
[[nodiscard]] inline double most_bytes(const ConstrainedProblem& problem) { return problem.limit * (1 + 1e-12); }

[[nodiscard]] inline bool fits(const ConstrainedProblem& problem, const std::vector<std::uint32_t>& choice) {
  return bytes_of(problem, choice) <= most_bytes(problem);
}

[[nodiscard]] inline double least_bytes(const ConstrainedProblem& problem) {
  double sum = 0;
  for (const std::vector<double>& b : problem.bytes) sum += *std::ranges::min_element(b);
  return sum;
}

// The cheapest choices that fit within a limit of bytes, exactly where time allows. Where those that are cheapest anyhow do not fit, bytes
// get a multiplier: the best one makes the bound that Lagrangian relaxation gives (Handler and Zang, Networks 10, 1980: one constraint,
// found from line to line) and choices that fit. Choices whose min-marginal at that multiplier is above these are left out (reduced-cost
// fixing); what is left goes to fronts of costs and bytes. Where these are too large, the answer is the best that is
// known, with the bound.

struct ConstrainedEffort {
  double most_entries = 1e8;  // of all tables of an elimination
  double most_pairs = 1e8;    // of labels that are put together
  double most_labels = 2e7;   // that are kept
};

struct ConstrainedChoice {
  std::vector<std::uint32_t> choice;  // empty: the time was up first. Where `fits` is false, those that take the fewest bytes
  bool fits = false;
  bool is_optimal = false;  // nothing that fits is cheaper by a millionth; or nothing fits
  double seconds = std::numeric_limits<double>::infinity();
  double bound = -std::numeric_limits<double>::infinity();  // no choices that fit cost less
};

// Finds out what pairs of these choices cost, where costs are bounds of it until someone asks; the problem's costs are others then, and
// none less.
// Returns: whether anything was not known before. Empty: all is known.
using ResolveCosts = std::function<bool(const std::vector<std::uint32_t>&)>;

// Requires: costs are finite.
// Cost: some ten eliminations, and what is left of the problem.
[[nodiscard]] ConstrainedChoice cheapest_within(const ConstrainedProblem& problem, const ResolveCosts& resolve, const Budget& budget,
                                                const ConstrainedEffort& effort = {});

}  // namespace search
