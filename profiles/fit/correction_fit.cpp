#include "profiles/fit/model_fits.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace fit {
namespace {

using profiles::Corner;
using profiles::LogGrid;
using profiles::LogPoint;

constexpr std::array kSpacings = {2.0, 3.0, 4.0, 6.0, 20.0};  // doublings between nodes: the closest for which there are rows enough
constexpr std::size_t kFewestRowsPerNode = 2;                 // fewer would leave most nodes to the smoothing
constexpr std::array kSmoothness = {0.1, 1.0, 10.0, 100.0};   // weights of curvature that are tried
constexpr int kFolds = 3;                                     // of the cross-validation that chooses the smoothness
constexpr int kRounds = 12;                                   // of weighting again
constexpr double kPull = 0.01;                                // towards 0 where no row says anything, as a share of the smoothness
constexpr std::size_t kProbes = 12000;                        // places where doubling a size is looked at
constexpr double kMostBatch = 6;                              // doublings: of products that are probed beside the rows
constexpr double kMayLose = 0.01;                             // of time, for a doubling
constexpr double kPush = 10;                                  // weight of a place that loses more, doubled every round

struct Point {
  LogPoint at;
  double residual;  // log measured / modelled
};

// A place where doubling one size must not take less time: the model alone gains `gain` in the logarithm.
struct Probe {
  LogPoint at, doubled;
  double gain;
};

std::vector<double> axis_over(double least, double most, double spacing) {
  if (most - least < 0.5) return {least - 0.5, most + 0.5};
  const int cells = std::max(1, static_cast<int>(std::lround((most - least) / spacing)));
  std::vector<double> axis;
  for (int i = 0; i <= cells; ++i) axis.push_back(least + (most - least) * i / cells);
  return axis;
}

LogGrid grid_over(std::span<const Point> points, double spacing) {
  LogGrid g;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto [least, most] = std::ranges::minmax(points, {}, [a](const Point& p) { return p.at[a]; });
    g.axes[a] = axis_over(least.at[a], most.at[a], spacing);
  }
  return g;
}

LogGrid empty_grid(std::span<const Point> points) {
  for (const double spacing : kSpacings) {
    LogGrid g = grid_over(points, spacing);
    if (points.size() >= kFewestRowsPerNode * g.nodes()) return g;
  }
  return grid_over(points, kSpacings.back());
}

class GridFit {
 public:
  GridFit(const LogGrid& shape, std::span<const Probe> probes, double smoothness) : g_(shape), probes_(probes) {
    penalty_ = Eigen::MatrixXd::Zero(size(), size());
    for (Eigen::Index i = 0; i < size(); ++i) penalty_(i, i) = kPull * smoothness;
    const std::array<std::size_t, 3> n = {g_.axes[0].size(), g_.axes[1].size(), g_.axes[2].size()};
    const std::array<std::size_t, 3> stride = {n[1] * n[2], n[2], 1};
    for (std::size_t i = 0; i < g_.nodes(); ++i)
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t along = i / stride[a] % n[a];
        if (along > 0 && along + 1 < n[a]) punish_bend(i - stride[a], i, i + stride[a], smoothness);
      }
  }

  LogGrid fit(std::span<const Point> points) {
    Eigen::VectorXd values = Eigen::VectorXd::Zero(size());
    std::vector<std::array<Corner, 8>> where;
    for (const Point& p : points) where.push_back(profiles::corners(g_, p.at));
    for (int round = 0; round < kRounds; ++round) {
      Eigen::MatrixXd left = penalty_;
      Eigen::VectorXd right = Eigen::VectorXd::Zero(size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double w = huber_weight(points[i].residual - value(values, where[i]));
        add(left, right, where[i], w, points[i].residual);
      }
      push_losers(left, right, values, kPush * std::exp2(round));
      values = left.ldlt().solve(right);
    }
    LogGrid result = g_;
    result.values.assign(values.begin(), values.end());
    return result;
  }

 private:
  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(g_.nodes()); }
  static Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

  void punish_bend(std::size_t before, std::size_t at, std::size_t after, double weight) {
    const std::array<std::size_t, 3> node = {before, at, after};
    constexpr std::array kBend = {1.0, -2.0, 1.0};  // the second difference, which is 0 on a straight line
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) penalty_(index(node[i]), index(node[j])) += weight * kBend[i] * kBend[j];
  }
  static double value(const Eigen::VectorXd& values, std::span<const Corner> row) {
    double sum = 0;
    for (const Corner& c : row) sum += c.weight * values(index(c.node));
    return sum;
  }
  // Adds the square of value(row) - target, `weight` times, to the normal equations.
  static void add(Eigen::MatrixXd& left, Eigen::VectorXd& right, std::span<const Corner> row, double weight, double target) {
    for (const Corner& a : row) {
      right(index(a.node)) += weight * a.weight * target;
      for (const Corner& b : row) left(index(a.node), index(b.node)) += weight * a.weight * b.weight;
    }
  }
  // Where doubling a size loses time so far, the loss is asked to shrink to what is allowed.
  // A place that is pushed stays so while it is below where it was pushed to: else it would swing.
  void push_losers(Eigen::MatrixXd& left, Eigen::VectorXd& right, const Eigen::VectorXd& values, double push) {
    pushed_.resize(probes_.size());
    for (std::size_t at = 0; at < probes_.size(); ++at) {
      const Probe& p = probes_[at];
      const auto from = profiles::corners(g_, p.at), to = profiles::corners(g_, p.doubled);
      const double gained = value(values, to) - value(values, from) + p.gain;
      pushed_[at] = gained < (pushed_[at] ? -kMayLose / 2 : -kMayLose);
      if (!pushed_[at]) continue;
      std::array<Corner, 16> row;
      std::ranges::transform(from, row.begin(), [](const Corner& c) { return Corner{c.node, -c.weight}; });
      std::ranges::copy(to, row.begin() + from.size());
      add(left, right, row, push, -kMayLose / 2 - p.gain);
    }
  }

  LogGrid g_;
  std::span<const Probe> probes_;
  Eigen::MatrixXd penalty_;
  std::vector<char> pushed_;  // one per probe
};

double error_on(const LogGrid& g, std::span<const Point> points) {
  double sum = 0;
  for (const Point& p : points) sum += std::abs(std::expm1(g.at(p.at) - p.residual));
  return sum;
}

// The weight of curvature with the least error on thirds of the rows that are held out one after another; nullopt when no grid pays.
std::optional<double> best_smoothness(const LogGrid& shape, std::span<const Point> points) {
  std::optional<double> best;
  double least = error_on(shape, points);  // without values it corrects nothing
  for (const double smoothness : kSmoothness) {
    double sum = 0;
    for (int fold = 0; fold < kFolds; ++fold) {
      std::vector<Point> used, aside;
      for (std::size_t i = 0; i < points.size(); ++i) (static_cast<int>(i % kFolds) == fold ? aside : used).push_back(points[i]);
      sum += error_on(GridFit(shape, {}, smoothness).fit(used), aside);
    }
    if (sum < least) {
      least = sum;
      best = smoothness;
    }
  }
  return best;
}

// Sizes of which the grid sees the point x, for a kernel like `like`: its bytes are each operand's once.
profiles::ProductSizes sizes_at(pcg::KernelKind kind, const profiles::ProductSizes& like, const std::array<double, 3>& x, double batch) {
  profiles::ProductSizes s = like;
  if (pcg::is_attention(kind)) {
    s.batch = x[0] * batch, s.m = s.k = x[1], s.n = x[2];
    s.bytes = 4 * s.element_bytes * s.batch * s.k * s.n;
  } else {
    s.batch = batch, s.m = x[0], s.n = x[1], s.k = x[2];
    s.bytes = s.element_bytes * s.batch * (s.m * s.n + s.n * s.k + s.k * s.m);
  }
  return s;
}

// Random places, each with one size doubled: from size 1, since the correction is flat outside the rows and must do no harm there.
std::vector<Probe> probes_over(pcg::KernelKind kind, const profiles::ProductModel& model, const ProductRow& like, const LogGrid& g) {
  std::mt19937 random(20261121);
  const auto between = [&](double least, double most) {
    const double share = static_cast<double>(random() - std::mt19937::min()) / static_cast<double>(std::mt19937::max());
    return std::round(std::exp2(least + share * (most - least)));
  };
  std::vector<Probe> probes;
  for (std::size_t i = 0; i < kProbes; ++i) {
    const bool inside = i % 2 == 0;
    std::array<double, 3> x{};
    for (std::size_t a = 0; a < 3; ++a) x[a] = std::max(1.0, between(inside ? g.axes[a].front() : 0, g.axes[a].back()));
    const double batch = inside ? 1 : between(0, kMostBatch);
    std::array<double, 3> y = x;
    const std::size_t doubled = i / 2 % 4;
    if (doubled < 3) y[doubled] *= 2;
    const auto from = sizes_at(kind, like.sizes, x, batch), to = sizes_at(kind, like.sizes, y, doubled < 3 ? batch : 2 * batch);
    probes.push_back({profiles::correction_point(kind, from), profiles::correction_point(kind, to),
                      std::log(profiles::product_seconds(model, like.device, to) / profiles::product_seconds(model, like.device, from))});
  }
  return probes;
}

}  // namespace

LogGrid fit_correction(pcg::KernelKind kind, const profiles::ProductModel& model, std::span<const ProductRow> rows) {
  std::vector<Point> points;
  for (const ProductRow& r : rows)
    points.push_back(
        {profiles::correction_point(kind, r.sizes), std::log(r.seconds / profiles::product_seconds(model, r.device, r.sizes))});
  const LogGrid shape = empty_grid(points);
  const auto smoothness = best_smoothness(shape, points);
  if (!smoothness) return shape;
  const std::vector<Probe> probes = probes_over(kind, model, rows.front(), shape);
  return GridFit(shape, probes, *smoothness).fit(points);
}

}  // namespace fit
