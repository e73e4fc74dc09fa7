#include "profiles/fit/network_fit.hpp"

#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "profiles/fit/kernel_calibration.hpp"
#include "profiles/fit/model_fits.hpp"
#include "sim/collectives/collective_cost.hpp"
#include "topology/load.hpp"

namespace fit {
namespace {

using measured::CollectiveMeasurement;
using profiles::Algorithm;
using profiles::CollectiveKind;
using profiles::NetworkProfile;
using profiles::Protocol;

constexpr double kPriorWidth = 0.7;     // how far from where it started, in natural logarithms, a number may be pulled by one row
constexpr double kLeastLatency = 1e-9;  // seconds: the logarithm of a latency needs one above 0, no hop is this quick
constexpr int kMostRounds = 60;         // of the search
constexpr double kShortWeight = 0.5;    // of a row below kShortMessage
constexpr double kMoved = 0.01;         // by less no row has moved a number: it is still what it was before the fit

// The shapes of one collective among one group, and the rows that did it.
struct RowGroup {
  std::vector<sim::CollectiveShape> shapes;
  std::vector<std::size_t> rows;
};

struct Choice {
  double seconds = 0;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  const sim::CollectiveShape* shape = nullptr;
};

struct Line {
  double latency = 0, per_byte = 0;
  Choice choice;
};

// All rows of clusters that follow a profile, by group. There is at least one.
class Predictor {
 public:
  Predictor(const NetworkProfile& profile, std::span<const CollectiveMeasurement> rows) : rows_(rows) {
    using Key = std::tuple<std::string, int, int, CollectiveKind>;
    std::map<Key, std::size_t> known;
    std::map<std::pair<std::string, int>, std::optional<topology::Cluster>> clusters;  // nullopt: of another profile
    const std::vector<std::string> presets = topology::preset_names();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CollectiveMeasurement& m = rows[i];
      if (std::ranges::find(presets, m.cluster) == presets.end()) continue;
      const auto [at, is_new] = clusters.try_emplace({m.cluster, m.nodes});
      if (is_new)
        if (topology::Cluster c = cluster_of(m.cluster, m.nodes); c.network_profile() == profile.name) at->second = std::move(c);
      if (!at->second) continue;
      const auto [number, is_new_group] = known.try_emplace(Key{m.cluster, m.nodes, m.gpus, m.kind}, groups_.size());
      if (is_new_group) {
        const std::vector<topology::DeviceId> group = group_of(m, *at->second);
        groups_.push_back(
            {group.empty() ? std::vector<sim::CollectiveShape>{}
                           : sim::collective_shapes(m.kind, group, *at->second, profile.relays ? sim::Relays::by_gpus : sim::Relays::none),
             {}});
      }
      groups_[number->second].rows.push_back(i);
    }
    std::erase_if(groups_, [](const RowGroup& g) { return g.shapes.empty(); });
    if (groups_.empty())
      base::refuse("", fmt::format("no row is of a cluster whose network_profile is \"{}\"", profile.name),
                   "the column \"cluster\" names a preset, as `foreshard show cluster` lists them");
  }

  // In the order of questions; `see(row, choice)`.
  void predict(const NetworkProfile& profile, const std::function<void(std::size_t, const Choice&)>& see) const {
    for (const RowGroup& g : groups_) {
      const std::vector<Line> lines = lines_of(g, profile);
      for (const std::size_t row : g.rows) {
        Choice best;
        best.seconds = 1e300;
        for (const Line& l : lines)
          if (const double seconds = l.latency + l.per_byte * rows_[row].bytes.value(); seconds < best.seconds) {
            best = l.choice;
            best.seconds = seconds;
          }
        see(row, best);
      }
    }
  }

 private:
  static std::vector<Line> lines_of(const RowGroup& g, const NetworkProfile& profile) {
    std::vector<Line> lines;
    for (const sim::CollectiveShape& s : g.shapes)
      for (const Protocol p : profiles::kProtocols)
        if (const std::optional<sim::CollectiveCost> cost = sim::cost_of(s, profile, p))
          lines.push_back({cost->latency_sum.value(), cost->transfer.value(), {0, s.algorithm, p, &s}});
    if (lines.empty())
      for (const sim::CollectiveShape& s : g.shapes) {
        const sim::CollectiveCost wires = sim::cost_of_wires(s);
        lines.push_back({wires.latency_sum.value(), wires.transfer.value(), {0, s.algorithm, Protocol::simple, &s}});
      }
    return lines;
  }

  std::span<const CollectiveMeasurement> rows_;
  std::vector<RowGroup> groups_;
};

// The numbers of a profile, without bounds: logarithms of latencies, logits of shares.
struct Parameters {
  std::vector<std::function<double(NetworkProfile&)>> get;
  std::vector<std::function<void(NetworkProfile&, double)>> set;
};

Parameters parameters_of(const NetworkProfile& start) {
  Parameters all;
  const auto add_latency = [&](const std::function<base::Seconds&(NetworkProfile&)>& at) {
    all.get.push_back([at](NetworkProfile& p) { return std::log(std::max(at(p).value(), kLeastLatency)); });
    all.set.push_back([at](NetworkProfile& p, double x) { at(p) = base::Seconds(std::exp(std::min(x, 0.0))); });
  };
  for (const auto& [type, algorithms] : start.links)
    for (const auto& [algorithm, protocols] : algorithms)
      for (const auto& [protocol, hop] : protocols) {
        const auto at = [type = type, algorithm = algorithm, protocol = protocol](NetworkProfile& p) -> profiles::NetworkHop& {
          return p.links.find(type)->second.at(algorithm).at(protocol);
        };
        add_latency([at](NetworkProfile& p) -> base::Seconds& { return at(p).latency; });
        all.get.push_back([at](NetworkProfile& p) {
          const double e = std::clamp(at(p).efficiency, 1e-3, 1 - 1e-3);
          return std::log(e / (1 - e));
        });
        all.set.push_back([at](NetworkProfile& p, double x) { at(p).efficiency = std::max(1e-3, 1 / (1 + std::exp(-x))); });
      }
  for (const auto& [kind, call] : start.calls) {
    for (const auto& [protocol, base] : call.base)
      add_latency([kind = kind, protocol = protocol](NetworkProfile& p) -> base::Seconds& { return p.calls.at(kind).base.at(protocol); });
    if (call.local == 0) continue;
    all.get.push_back([kind = kind](NetworkProfile& p) { return std::log(p.calls.at(kind).local); });
    all.set.push_back([kind = kind](NetworkProfile& p, double x) { p.calls.at(kind).local = std::exp(std::clamp(x, -5.0, 1.0)); });
  }
  return all;
}

// Levenberg-Marquardt on log(predicted / measured), weighted again in each round so that outliers count by their size, not its square.
class NetworkFitter {
 public:
  NetworkFitter(const NetworkProfile& start, const Predictor& predictor, std::span<const CollectiveMeasurement> rows)
      : profile_(start), predictor_(predictor), rows_(rows), parameters_(parameters_of(start)) {
    const auto n = static_cast<Eigen::Index>(parameters_.get.size());
    start_.resize(n);
    for (Eigen::Index j = 0; j < n; ++j) start_(j) = parameters_.get[static_cast<std::size_t>(j)](profile_);
    at_ = start_;
  }

  NetworkProfile run() {
    double damping = 1;
    Eigen::VectorXd errors = errors_at(at_);
    for (int round = 0; round < kMostRounds; ++round) {
      const Eigen::MatrixXd slopes = slopes_at(at_, errors);
      const Eigen::VectorXd w = weights(errors);
      Eigen::MatrixXd normal = slopes.transpose() * w.asDiagonal() * slopes;
      Eigen::VectorXd pull = -(slopes.transpose() * w.asDiagonal() * errors);
      const double prior = kUsualError * kUsualError / (kPriorWidth * kPriorWidth);
      normal.diagonal().array() += prior;
      pull -= prior * (at_ - start_);
      bool better = false;
      const double before = cost(errors, at_);
      while (damping < 1e8 && !better) {
        Eigen::MatrixXd damped = normal;
        damped.diagonal().array() *= 1 + damping;
        const Eigen::VectorXd next = at_ + damped.ldlt().solve(pull).cwiseMin(1.0).cwiseMax(-1.0);
        const Eigen::VectorXd then = errors_at(next);
        const double now = cost(then, next);
        better = now < before;
        if (better) {
          at_ = next;
          errors = then;
          damping = std::max(damping / 5, 1e-6);
          if (now > before * (1 - 1e-5)) round = kMostRounds;
        } else {
          damping *= 4;
        }
      }
      if (!better) break;
    }
    put(profile_, at_);
    return profile_;
  }

 private:
  void put(NetworkProfile& p, const Eigen::VectorXd& x) const {
    for (Eigen::Index j = 0; j < x.size(); ++j) parameters_.set[static_cast<std::size_t>(j)](p, x(j));
  }
  [[nodiscard]] Eigen::VectorXd errors_at(const Eigen::VectorXd& x) const {
    NetworkProfile p = profile_;
    put(p, x);
    Eigen::VectorXd errors = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows_.size()));
    predictor_.predict(p, [&](std::size_t row, const Choice& c) {
      if (!is_held_out(rows_[row])) errors(static_cast<Eigen::Index>(row)) = std::log(c.seconds / rows_[row].time.value());
    });
    return errors;
  }
  [[nodiscard]] Eigen::MatrixXd slopes_at(const Eigen::VectorXd& x, const Eigen::VectorXd& errors) const {
    constexpr double kStep = 1e-4;  // of a logarithm: far above the rounding of doubles, far below what a parameter's slope changes over
    Eigen::MatrixXd slopes(errors.size(), x.size());
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      Eigen::VectorXd moved = x;
      moved(j) += kStep;
      slopes.col(j) = (errors_at(moved) - errors) / kStep;
    }
    return slopes;
  }
  [[nodiscard]] double importance(Eigen::Index row) const {
    return rows_[static_cast<std::size_t>(row)].bytes < kShortMessage ? kShortWeight : 1;
  }
  [[nodiscard]] Eigen::VectorXd weights(const Eigen::VectorXd& errors) const {
    Eigen::VectorXd w(errors.size());
    for (Eigen::Index i = 0; i < w.size(); ++i) w(i) = importance(i) * huber_weight(errors(i));
    return w;
  }
  [[nodiscard]] double cost(const Eigen::VectorXd& errors, const Eigen::VectorXd& x) const {
    double sum = 0;
    for (Eigen::Index i = 0; i < errors.size(); ++i) sum += importance(i) * huber(errors(i));
    return sum + kUsualError / (2 * kPriorWidth * kPriorWidth) * (x - start_).squaredNorm();
  }

  NetworkProfile profile_;
  const Predictor& predictor_;
  std::span<const CollectiveMeasurement> rows_;
  Parameters parameters_;
  Eigen::VectorXd start_, at_;
};

std::vector<NetworkResidual> residuals_of(const NetworkProfile& profile, const Predictor& predictor,
                                          std::span<const CollectiveMeasurement> rows) {
  std::vector<NetworkResidual> out;
  predictor.predict(profile, [&](std::size_t row, const Choice& c) {
    out.push_back({&rows[row], base::Seconds(c.seconds), c.algorithm, c.protocol, is_held_out(rows[row])});
  });
  std::ranges::sort(out, {}, &NetworkResidual::row);
  return out;
}

// Rounds to what the rows identify, and says beside each number what it is based on; numbers that no row used stay.
void write_sources(NetworkProfile& fitted, const NetworkProfile& start, const Predictor& predictor,
                   std::span<const CollectiveMeasurement> rows) {
  std::map<std::tuple<std::string, Algorithm, Protocol>, int> hops;
  std::map<std::pair<CollectiveKind, Protocol>, int> calls;
  predictor.predict(fitted, [&](std::size_t row, const Choice& c) {
    ++calls[{rows[row].kind, c.protocol}];
    for (std::size_t w = 0; w < c.shape->route_classes.size(); ++w)
      if (c.shape->used[w])
        for (const auto& [type, bandwidth] : c.shape->route_classes[w].narrowest) ++hops[{type, c.algorithm, c.protocol}];
  });
  for (auto& [type, algorithms] : fitted.links)
    for (auto& [algorithm, protocols] : algorithms)
      for (auto& [protocol, hop] : protocols) {
        const auto used = hops.find({type, algorithm, protocol});
        const profiles::NetworkHop& before = start.links.find(type)->second.at(algorithm).at(protocol);
        const bool moved = std::abs(std::log(hop.efficiency / before.efficiency)) > kMoved ||
                           std::abs(hop.latency.value() - before.latency.value()) > kMoved * before.latency.value();
        if (used == hops.end() || !moved) hop = before;
        else hop.source = fmt::format("fitted, {} rows", used->second);
      }
  for (auto& [kind, call] : fitted.calls) {
    int all = 0;
    for (auto& [protocol, base] : call.base) {
      const auto used = calls.find({kind, protocol});
      if (used == calls.end()) base = start.calls.at(kind).base.at(protocol);
      else all += used->second;
    }
    if (all == 0) call = start.calls.at(kind);
    else call.source = fmt::format("fitted, {} rows", all);
  }
}

}  // namespace

topology::Cluster cluster_of(const std::string& preset, int nodes) {
  base::Yaml section = base::Yaml::make_map();
  section.set("preset", base::Yaml::make_scalar(preset));
  section.set("nodes", base::Yaml::make_scalar(std::to_string(nodes)));
  return topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
}

std::vector<topology::DeviceId> group_of(const CollectiveMeasurement& m, const topology::Cluster& cluster) {
  std::vector<topology::DeviceId> group;
  const std::size_t each = static_cast<std::size_t>(m.gpus / m.nodes);
  for (int node = 0; node < m.nodes; ++node) {
    const auto devices = cluster.node_devices(node);
    if (devices.size() < each) return {};
    group.insert(group.end(), devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(each));
  }
  return group;
}

NetworkFit fit_network(const NetworkProfile& start, std::span<const CollectiveMeasurement> rows) {
  const Predictor predictor(start, rows);
  NetworkFit fit;
  fit.profile = NetworkFitter(start, predictor, rows).run();
  write_sources(fit.profile, start, predictor, rows);
  fit.residuals = residuals_of(fit.profile, predictor, rows);
  if (fit.residuals.size() < rows.size())
    fit.notes.push_back(
        fmt::format("{} rows took no part: their cluster has another network profile, or fewer GPUs in a node than they need",
                    rows.size() - fit.residuals.size()));
  return fit;
}

std::vector<NetworkResidual> compare_network(const NetworkProfile& profile, std::span<const CollectiveMeasurement> rows) {
  return residuals_of(profile, Predictor(profile, rows), rows);
}

}  // namespace fit
