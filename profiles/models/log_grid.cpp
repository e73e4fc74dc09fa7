#include "profiles/models/product_model.hpp"

#include <algorithm>

namespace profiles {
namespace {

constexpr double kTolerance = 1e-9;  // of a logarithm: what rounding in a text form leaves

struct Place {
  std::size_t cell;
  double fraction;
};

// The fraction is held between 0 and 1: outside the axis the value is that of its end.
Place place_on(const std::vector<double>& axis, double x) {
  std::size_t cell = 0;
  while (cell + 2 < axis.size() && x >= axis[cell + 1]) ++cell;
  return {cell, std::clamp((x - axis[cell]) / (axis[cell + 1] - axis[cell]), 0.0, 1.0)};
}

}  // namespace

bool LogGrid::covers(const LogPoint& x) const {
  for (std::size_t a = 0; a < 3; ++a)
    if (x[a] < axes[a].front() - kTolerance || x[a] > axes[a].back() + kTolerance) return false;
  return true;
}

Corners corners(const LogGrid& g, const LogPoint& x) {
  const std::array<Place, 3> p = {place_on(g.axes[0], x[0]), place_on(g.axes[1], x[1]), place_on(g.axes[2], x[2])};
  Corners c{};
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t node = 0;
    double weight = 1;
    for (std::size_t a = 0; a < 3; ++a) {
      const bool upper = (i >> a & 1) != 0;
      node = node * g.axes[a].size() + p[a].cell + (upper ? 1 : 0);
      weight *= upper ? p[a].fraction : 1 - p[a].fraction;
    }
    c.node[i] = node;
    c.weight[i] = weight;
  }
  return c;
}

double LogGrid::at(const LogPoint& x) const {
  if (values.empty()) return 0;
  const Corners c = corners(*this, x);
  double sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum += c.weight[i] * values[c.node[i]];
  return sum;
}

}  // namespace profiles
