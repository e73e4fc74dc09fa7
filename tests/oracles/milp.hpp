#pragma once
// Mixed-integer linear models (MILP), and COIN-OR's branch and cut (CBC) for them. CBC runs in a child process: it overruns its own limits,
// prints, and may crash, none of which reaches this process.

#include <cstddef>
#include <limits>
#include <vector>

#include "base/units.hpp"

namespace oracles {

struct MilpColumn {
  double cost = 0;
  bool is_whole = false;
  double least = 0, most = std::numeric_limits<double>::infinity();
};

struct MilpTerm {
  std::size_t column = 0;
  double factor = 1;
};

// A column has one term at most.
struct MilpRow {
  std::vector<MilpTerm> terms;
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
};

// The sum of columns times costs is to be least, where columns and rows keep their bounds. Only coefficients that are not zero are listed.
struct MilpModel {
  std::vector<MilpColumn> columns;
  std::vector<MilpRow> rows;

  // Returns its index.
  std::size_t add(const MilpColumn& column) {
    columns.push_back(column);
    return columns.size() - 1;
  }
};

// Both of a value for each column. A solution may miss a bound, or a whole number, by a solver's tolerance.
[[nodiscard]] double objective_of(const MilpModel& model, const std::vector<double>& values);
[[nodiscard]] bool is_solution(const MilpModel& model, const std::vector<double>& values);

enum class MilpStatus {
  optimal,       // CBC says so: nothing is better than `values` by more than its tolerances
  feasible,      // the best when a limit was met, or CBC broke off
  infeasible,    // CBC says that nothing is below the cutoff
  nothing_found  // within the limits
};

struct MilpAnswer {
  MilpStatus status = MilpStatus::nothing_found;
  std::vector<double> values;                               // of each column; empty: infeasible or nothing found. Checked by is_solution()
  double bound = -std::numeric_limits<double>::infinity();  // of the objective of whatever is below the cutoff, as CBC says
};

struct MilpLimits {
  int nodes = std::numeric_limits<int>::max();              // of branch and cut: the same on every machine
  double cutoff = std::numeric_limits<double>::infinity();  // of the objective: only what is below counts
};

// `start`: a solution, or empty. What CBC finds is better than that, or that is the answer.
// Cost: a fork and some ten milliseconds, then as CBC takes. The objective should be scaled to some hundreds: CBC calls solutions equal
// that differ by 1e-5.
[[nodiscard]] MilpAnswer solve_by_cbc(const MilpModel& model, const std::vector<double>& start, const MilpLimits& limits = {});

}  // namespace oracles
