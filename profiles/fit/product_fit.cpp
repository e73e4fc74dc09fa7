#include "profiles/fit/model_fits.hpp"

#include <algorithm>
#include <cmath>

#include "profiles/fit/log_search.hpp"

namespace fit {
namespace {

using profiles::kProductParameters;
using profiles::ProductModel;
using profiles::ProductParameters;

constexpr std::size_t kMostRows = 1200;  // for the model's few parameters more say nothing new

// The physical range of each parameter, in the order of ProductModel's members: shares of a peak reach at most about 1, steps and launches
// take nanoseconds and microseconds.
constexpr std::array<LogRange, kProductParameters> kRanges = {
    LogRange{0.2, 1}, LogRange{0.05, 200},  LogRange{0.05, 1},    LogRange{1e-11, 1e-7}, LogRange{1e-9, 1e-5}, LogRange{0.1, 10},
    LogRange{0.2, 1}, LogRange{1e-6, 8e-6}, LogRange{1e-7, 2e-5}, LogRange{0.05, 20},    LogRange{1, 8}};

ProductModel model_of(std::span<const double> found) {
  ProductParameters values{};
  std::ranges::copy(found, values.begin());
  return profiles::product_model(values);
}

// Rows at equal distances, at most kMostRows of them: rows come in order of their sizes.
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

LogFound search_from(const ProductModel& start, std::span<const ProductRow> rows) {
  return least_in_logarithms(profiles::to_array(start), kRanges,
                             [&](std::span<const double> values) { return cost_of(model_of(values), rows); });
}

}  // namespace

ProductModel fit_product_model(std::span<const ProductRow> rows) {
  const std::vector<ProductRow> some = thinned(rows);
  // Two reasons why small tiles may lose, since the cost has a valley for each.
  LogFound best = search_from(ProductModel{}, some);
  const LogFound other = search_from(ProductModel{.half_ratio = 40, .tail = 0.95, .overlap = 2.5}, some);
  if (other.cost < best.cost) best = other;
  return model_of(best.values);
}

double predict(pcg::KernelKind kind, const ProductModel& model, const profiles::LogGrid& correction, const ProductRow& row) {
  return profiles::product_seconds(model, row.device, row.sizes) * std::exp(correction.at(profiles::correction_point(kind, row.sizes)));
}

}  // namespace fit
