#pragma once
// COIN-OR's branch and cut (CBC), in a child process: it overruns its own limits, prints, and may crash, none of which reaches this
// process.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/units.hpp"
#include "search/solve/milp/mixed_programme.hpp"

namespace search {

enum class MilpStatus {
  optimal,       // CBC says so: nothing is better than `values` by more than its tolerances
  feasible,      // the best when a limit was met, or CBC broke off
  infeasible,    // CBC says that nothing is below the cutoff
  nothing_found  // within the limits
};

struct MilpAnswer {
  MilpStatus status = MilpStatus::nothing_found;
  std::vector<double> values;                               // of each column; empty: infeasible or nothing found. Checked by is_solution()
  std::uint64_t nodes = 0;                                  // that were looked at, where CBC ended by itself
  double bound = -std::numeric_limits<double>::infinity();  // of the objective of whatever is below the cutoff, as CBC says
};

struct MilpLimits {
  base::Seconds seconds;                                    // by a clock on the wall; a tenth of it is left to CBC to end by itself
  std::uint64_t nodes = std::numeric_limits<int>::max();    // of branch and cut: the same on every machine
  std::function<bool()> is_over;                            // asked now and then; empty: never
  double cutoff = std::numeric_limits<double>::infinity();  // of the objective: only what is below counts
};

// `start`: a solution, or empty. What CBC finds is better than that, or that is the answer.
// Cost: a fork and some ten milliseconds, then as CBC takes. The objective should be scaled to some hundreds: CBC calls solutions equal
// that differ by 1e-5.
[[nodiscard]] MilpAnswer solve_by_cbc(const MixedProgramme& programme, const std::vector<double>& start, const MilpLimits& limits);

}  // namespace search
