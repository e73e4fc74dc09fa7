#include "profiles/fit/model_fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <vector>

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

// The physical range of each parameter, in the order of AttentionModel's members: a pass cannot beat the peak by much even where it leaves
// work out, a block's ends cost up to some tiles of keys, an exponential less than some heads, launches take microseconds.
constexpr std::array<LogRange, profiles::kAttentionParameters> kAttentionRanges = {LogRange{0.1, 2}, LogRange{10, 2000}, LogRange{1, 500},
                                                                                   LogRange{1e-6, 5e-5}};

constexpr int kSteps = 400;              // of `half`, evenly in its logarithm
constexpr double kShortestHalfS = 1e-8;  // what the bandwidth moves in `half`: from 10 ns
constexpr double kLongestHalfS = 1e-3;   // to a millisecond

// The best `max` for a given `half` shifts every error alike: the median of the errors has to be 0.
profiles::Efficiency with_half(std::span<const RateRow> rows, double half_s, double bandwidth) {
  std::vector<double> shares;
  for (const RateRow& r : rows) shares.push_back((r.bytes / r.bandwidth + half_s) / r.seconds);
  std::ranges::nth_element(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
  return {std::min(shares[shares.size() / 2], 1.0), half_s * bandwidth};
}

constexpr int kMostSteps = 2500;  // an upper bound: some two hundred for each parameter of the largest model

std::vector<double> exponentials(const std::vector<double>& x) {
  std::vector<double> values(x.size());
  std::ranges::transform(x, values.begin(), [](double v) { return std::exp(v); });
  return values;
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

double predict(const profiles::AttentionModel& model, const AttentionRow& row) {
  return profiles::attention_seconds(model, row.peak, row.kernel);
}

profiles::AttentionModel fit_attention(std::span<const AttentionRow> rows) {
  const auto model_of = [](std::span<const double> found) {
    profiles::AttentionParameters values{};
    std::ranges::copy(found, values.begin());
    return profiles::attention_model(values);
  };
  const LogFound best =
      least_in_logarithms(profiles::to_array(profiles::AttentionModel{}), kAttentionRanges, [&](std::span<const double> values) {
        double sum = 0;
        for (const AttentionRow& r : rows) sum += huber(std::log(predict(model_of(values), r) / r.seconds));
        return sum / static_cast<double>(rows.size());
      });
  return model_of(best.values);
}

double predict(const profiles::Efficiency& e, const RateRow& row) { return (row.bytes + e.half) / (row.bandwidth * e.max); }

profiles::Efficiency fit_rate(std::span<const RateRow> rows) {
  profiles::Efficiency best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kSteps; ++i) {
    const double half_s = kShortestHalfS * std::pow(kLongestHalfS / kShortestHalfS, static_cast<double>(i) / kSteps);
    const profiles::Efficiency e = with_half(rows, half_s, rows.front().bandwidth);
    double cost = 0;
    for (const RateRow& r : rows) cost += huber(std::log(predict(e, r) / r.seconds));
    if (cost < least) {
      least = cost;
      best = e;
    }
  }
  return best;
}

LogFound least_in_logarithms(std::span<const double> start, std::span<const LogRange> ranges,
                             const std::function<double(std::span<const double>)>& cost) {
  using Cost = std::function<double(const std::vector<double>&)>;
  Cost of_logarithms = [&](const std::vector<double>& x) { return cost(exponentials(x)); };
  nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(ranges.size()));
  search.set_min_objective([](const std::vector<double>& x, std::vector<double>&, void* f) { return (*static_cast<Cost*>(f))(x); },
                           &of_logarithms);
  std::vector<double> least, most, x;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    least.push_back(std::log(ranges[i].least));
    most.push_back(std::log(ranges[i].most));
    x.push_back(std::clamp(std::log(start[i]), least[i], most[i]));
  }
  search.set_lower_bounds(least);
  search.set_upper_bounds(most);
  search.set_initial_step(0.3);
  search.set_ftol_rel(1e-6);
  search.set_maxeval(kMostSteps);
  double best = 0;
  search.optimize(x, best);
  return {exponentials(x), best};
}

}  // namespace fit
