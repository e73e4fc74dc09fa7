#include "profiles/fit/model_fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlopt.hpp>
#include <vector>

namespace fit {
namespace {

using profiles::AttentionModel;
using profiles::Parameter;
using profiles::ProductModel;

constexpr std::size_t kMostRows = 1200;  // for the model's few parameters more say nothing new

struct Range {
  double least, most;
};

// The physical range of each parameter, in the order of ProductModel's members: shares of a peak reach at most about 1, steps and launches
// take nanoseconds and microseconds.
constexpr std::array<Range, std::size(profiles::kProductParameters)> kProductRanges = {
    Range{0.2, 1}, Range{0.05, 200},  Range{0.05, 1},    Range{1e-11, 1e-7}, Range{1e-9, 1e-5}, Range{0.1, 10},
    Range{0.2, 1}, Range{1e-6, 8e-6}, Range{1e-7, 2e-5}, Range{0.05, 20},    Range{1, 8}};

// The physical range of each parameter, in the order of AttentionModel's members: a pass cannot beat the peak by much even where it leaves
// work out, a block's ends cost up to some tiles of keys, an exponential less than some heads, launches take microseconds.
constexpr std::array<Range, std::size(profiles::kAttentionParameters)> kAttentionRanges = {Range{0.1, 2}, Range{10, 2000}, Range{1, 500},
                                                                                           Range{1e-6, 5e-5}};

// Rows at equal distances, at most kMostRows of them: rows come in order of their sizes.
std::vector<ProductRow> thinned(std::span<const ProductRow> rows) {
  const std::size_t every = (rows.size() + kMostRows - 1) / kMostRows;
  std::vector<ProductRow> some;
  for (std::size_t i = 0; i < rows.size(); i += every) some.push_back(rows[i]);
  return some;
}

double predict(const ProductModel& model, const ProductRow& row) { return profiles::product_seconds(model, row.device, row.sizes); }

template <class Model>
struct Found {
  Model model;
  double cost = 0;  // mean robust error
};

constexpr int kMostSteps = 2500;  // an upper bound: some two hundred for each parameter of the largest model

// Where Subplex (Rowan 1990) ends that starts at `start` and goes through the logarithms of the parameters, within their ranges.
// Deterministic. Cost: at most kMostSteps times the rows.
template <class Model, std::size_t n, class Row>
Found<Model> search_from(const Model& start, const Parameter<Model> (&parameters)[n], const std::array<Range, n>& ranges,
                         std::span<const Row> rows) {
  const auto model_of = [&](const std::vector<double>& logarithms) {
    Model model;
    for (std::size_t i = 0; i < n; ++i) model.*parameters[i].member = std::exp(logarithms[i]);
    return model;
  };
  std::function<double(const std::vector<double>&)> cost = [&](const std::vector<double>& x) {
    const Model model = model_of(x);
    double sum = 0;
    for (const Row& r : rows) sum += huber(std::log(predict(model, r) / r.seconds));
    return sum / static_cast<double>(rows.size());
  };
  nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(n));
  search.set_min_objective(
      [](const std::vector<double>& x, std::vector<double>&, void* f) { return (*static_cast<decltype(cost)*>(f))(x); }, &cost);
  std::vector<double> least, most, x;
  for (std::size_t i = 0; i < n; ++i) {
    least.push_back(std::log(ranges[i].least));
    most.push_back(std::log(ranges[i].most));
    x.push_back(std::clamp(std::log(start.*parameters[i].member), least[i], most[i]));
  }
  search.set_lower_bounds(least);
  search.set_upper_bounds(most);
  search.set_initial_step(0.3);
  search.set_ftol_rel(1e-6);
  search.set_maxeval(kMostSteps);
  double best = 0;
  search.optimize(x, best);
  return {model_of(x), best};
}

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

}  // namespace

ProductModel fit_product_model(std::span<const ProductRow> rows) {
  const std::vector<ProductRow> thin = thinned(rows);
  const std::span<const ProductRow> some = thin;
  // Two reasons why small tiles may lose, since the cost has a valley for each.
  const auto best = search_from(ProductModel{}, profiles::kProductParameters, kProductRanges, some);
  const auto other =
      search_from(ProductModel{.half_ratio = 40, .tail = 0.95, .overlap = 2.5}, profiles::kProductParameters, kProductRanges, some);
  return (other.cost < best.cost ? other : best).model;
}

double predict(pcg::KernelKind kind, const ProductModel& model, const profiles::LogGrid& correction, const ProductRow& row) {
  return predict(model, row) * std::exp(correction.at(profiles::correction_point(kind, row.sizes)));
}

double predict(const AttentionModel& model, const AttentionRow& row) { return profiles::attention_seconds(model, row.peak, row.kernel); }

AttentionModel fit_attention(std::span<const AttentionRow> rows) {
  return search_from(AttentionModel{}, profiles::kAttentionParameters, kAttentionRanges, rows).model;
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

}  // namespace fit
