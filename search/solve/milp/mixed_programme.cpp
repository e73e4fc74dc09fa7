#include "search/solve/milp/mixed_programme.hpp"

#include <algorithm>
#include <cmath>

namespace search {
namespace {

constexpr double kTolerance = 1e-6;  // of solvers: CBC's for whole numbers; a row's grows with its largest term

}  // namespace

double objective_of(const MixedProgramme& programme, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t c = 0; c < values.size(); ++c) sum += programme.columns[c].cost * values[c];
  return sum;
}

bool is_solution(const MixedProgramme& programme, const std::vector<double>& values) {
  if (values.size() != programme.columns.size()) return false;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const ProgrammeColumn& column = programme.columns[c];
    const double v = values[c], slack = kTolerance * std::max(1.0, std::abs(v));
    if (!(v >= column.least - slack && v <= column.most + slack)) return false;
    if (column.is_whole && std::abs(v - std::round(v)) > kTolerance) return false;
  }
  return std::ranges::all_of(programme.rows, [&](const ProgrammeRow& row) {
    double sum = 0, largest = 1;
    for (const ProgrammeTerm& t : row.terms) {
      sum += t.factor * values[t.column];
      largest = std::max({largest, std::abs(t.factor), std::abs(t.factor * values[t.column])});
    }
    return sum >= row.least - kTolerance * largest && sum <= row.most + kTolerance * largest;
  });
}

}  // namespace search
