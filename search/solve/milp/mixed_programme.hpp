#pragma once
// A mixed-integer linear programme: columns within bounds, some of them whole numbers, and rows that hold sums of them within bounds; the
// sum of columns times costs is to be least. The coefficients that are not zero are listed; nothing here solves it.

#include <cstddef>
#include <limits>
#include <vector>

namespace search {

struct ProgrammeColumn {
  double cost = 0;
  bool is_whole = false;
  double least = 0, most = std::numeric_limits<double>::infinity();
};

struct ProgrammeTerm {
  std::size_t column = 0;
  double factor = 1;
};

// A column stands in one term at most.
struct ProgrammeRow {
  std::vector<ProgrammeTerm> terms;
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
};

struct MixedProgramme {
  std::vector<ProgrammeColumn> columns;
  std::vector<ProgrammeRow> rows;

  // Returns its index.
  std::size_t add(const ProgrammeColumn& column) {
    columns.push_back(column);
    return columns.size() - 1;
  }
};

// Both of a value for each column. A solution may miss a bound, or a whole number, by a solver's tolerance.
[[nodiscard]] double objective_of(const MixedProgramme& programme, const std::vector<double>& values);
[[nodiscard]] bool is_solution(const MixedProgramme& programme, const std::vector<double>& values);

}  // namespace search
