#include "calibration/product_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlopt.hpp>

#include "calibration/robust.hpp"

namespace calibration {
namespace {

using profiles::kProductParameters;
using profiles::ProductModel;
using profiles::ProductParameters;

constexpr std::size_t kMostRows = 1200;  // for the model's few parameters more say nothing new
constexpr int kMostSteps = 2500;         // of the search: an upper bound, some two hundred per parameter

struct Range {
  double least, most;
};
// The physical range of each parameter, in the order of ProductModel's members: shares of a peak reach at most about 1, steps and launches
// take nanoseconds and microseconds.
constexpr std::array<Range, kProductParameters> kRanges = {Range{0.2, 1},     Range{0.05, 200}, Range{0.05, 1}, Range{1e-11, 1e-7},
                                                           Range{1e-9, 1e-5}, Range{0.1, 10},   Range{0.2, 1},  Range{1e-6, 8e-6},
                                                           Range{1e-7, 2e-5}, Range{0.05, 20},  Range{1, 8}};

std::vector<double> logarithms(const ProductModel& p) {
  const ProductParameters values = profiles::to_array(p);
  std::vector<double> x(values.size());
  std::ranges::transform(values, x.begin(), [](double v) { return std::log(v); });
  return x;
}
ProductModel model_at(const std::vector<double>& x) {
  ProductParameters values{};
  std::ranges::transform(x, values.begin(), [](double v) { return std::exp(v); });
  return profiles::product_model(values);
}

// Every so many rows, so that there are at most kMostRows: rows come in order of their sizes.
std::vector<ProductRow> thinned(std::span<const ProductRow> rows) {
  const std::size_t every = (rows.size() + kMostRows - 1) / kMostRows;
  std::vector<ProductRow> some;
  for (std::size_t i = 0; i < rows.size(); i += every) some.push_back(rows[i]);
  return some;
}

double cost_of(const ProductModel& p, std::span<const ProductRow> rows) {
  double sum = 0;
  for (const ProductRow& r : rows) sum += huber(std::log(profiles::product_seconds(p, r.device, r.sizes) / r.seconds));
  return sum / static_cast<double>(rows.size());
}

struct Found {
  ProductModel model;
  double cost;
};

Found search_from(const ProductModel& start, std::span<const ProductRow> rows) {
  using Cost = std::function<double(const std::vector<double>&)>;
  Cost cost = [&](const std::vector<double>& x) { return cost_of(model_at(x), rows); };
  nlopt::opt search(nlopt::LN_SBPLX, kProductParameters);
  search.set_min_objective([](const std::vector<double>& x, std::vector<double>&, void* f) { return (*static_cast<Cost*>(f))(x); }, &cost);
  std::vector<double> least, most, x = logarithms(start);
  for (const Range& r : kRanges) {
    least.push_back(std::log(r.least));
    most.push_back(std::log(r.most));
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::clamp(x[i], least[i], most[i]);
  search.set_lower_bounds(least);
  search.set_upper_bounds(most);
  search.set_initial_step(0.3);
  search.set_ftol_rel(1e-6);
  search.set_maxeval(kMostSteps);
  double best = 0;
  search.optimize(x, best);
  return {model_at(x), best};
}

}  // namespace

ProductModel fit_product_model(std::span<const ProductRow> rows) {
  const std::vector<ProductRow> some = thinned(rows);
  // Two ways in which small tiles may lose, since the cost has a valley for each.
  Found best = search_from(ProductModel{}, some);
  const Found other = search_from(ProductModel{.half_ratio = 40, .tail = 0.95, .overlap = 2.5}, some);
  if (other.cost < best.cost) best = other;
  return best.model;
}

double predict(pcg::KernelKind kind, const ProductModel& model, const profiles::LogGrid& correction, const ProductRow& row) {
  return profiles::product_seconds(model, row.device, row.sizes) * std::exp(correction.at(profiles::correction_point(kind, row.sizes)));
}

}  // namespace calibration
