#include "sim/channels/path_search.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace sim {
namespace {

// Enough to be exact on eight GPUs whatever the wiring; with 16 it ends early where wires are alike and cuts the rest.
constexpr int kMostSteps = 100000;

class Search {
 public:
  // A cycle ends at `target`, where it starts; a path keeps it for its end.
  Search(const NodeWires& wires, const std::vector<double>& free, std::vector<int> crossings, double cap, OrderKind kind, int from,
         int target)
      : wires_(wires),
        free_(free),
        crossings_(std::move(crossings)),
        cap_(cap),
        kind_(kind),
        target_(target),
        visited_(static_cast<std::size_t>(wires.size()), false),
        order_{from} {
    visited_[static_cast<std::size_t>(from)] = true;
  }
  NodeOrder run() && {
    extend(cap_);
    return std::move(best_);
  }

 private:
  // The rate if the order also crosses from -> to, and notes the crossing.
  double cross(int from, int to, double rate) {
    for (const int l : wires_.links(from, to)) {
      const auto i = static_cast<std::size_t>(l);
      rate = std::min(rate, free_[i] / ++crossings_[i]);
    }
    return rate;
  }
  void uncross(int from, int to) {
    for (const int l : wires_.links(from, to)) --crossings_[static_cast<std::size_t>(l)];
  }
  [[nodiscard]] bool is_path() const { return kind_ == OrderKind::path; }
  [[nodiscard]] bool is_done() const { return best_.rate >= cap_ || steps_ > kMostSteps; }

  void extend(double rate) {
    ++steps_;
    const int last = order_.back();
    const std::size_t left = static_cast<std::size_t>(wires_.size()) - order_.size();
    if (left == (is_path() ? 1U : 0U) || wires_.size() == 1) return close(last, rate);
    for (const int next : wires_.candidates(last)) {
      if (visited_[static_cast<std::size_t>(next)] || (is_path() && next == target_)) continue;
      const double with = cross(last, next, rate);
      // An order gets no quicker by going on: what is no better than the best already is left here.
      if (with > best_.rate) {
        visited_[static_cast<std::size_t>(next)] = true;
        order_.push_back(next);
        extend(with);
        order_.pop_back();
        visited_[static_cast<std::size_t>(next)] = false;
      }
      uncross(last, next);
      if (is_done()) return;
    }
  }

  void close(int last, double rate) {
    if (last != target_) {
      if (!wires_.has_hop(last, target_)) return;
      rate = cross(last, target_, rate);
      uncross(last, target_);
    }
    if (rate <= best_.rate) return;
    best_ = {kind_, order_, rate};
    if (is_path() && last != target_) best_.members.push_back(target_);
  }

  const NodeWires& wires_;
  const std::vector<double>& free_;
  std::vector<int> crossings_;  // per link
  double cap_;
  OrderKind kind_;
  int target_;
  int steps_ = 0;
  std::vector<bool> visited_;
  std::vector<int> order_;
  NodeOrder best_;
};

// No cycle is faster than what the worst-connected member can send or receive over its best route.
double most_of_a_cycle(const NodeWires& wires, const std::vector<double>& free) {
  const auto width = [&](int a, int b) {
    double w = std::numeric_limits<double>::infinity();
    for (const int l : wires.links(a, b)) w = std::min(w, free[static_cast<std::size_t>(l)]);
    return w;
  };
  double most = std::numeric_limits<double>::infinity();
  for (int a = 0; a < wires.size(); ++a) {
    double out = 0, in = 0;
    for (const int b : wires.candidates(a)) {
      out = std::max(out, width(a, b));
      in = std::max(in, width(b, a));
    }
    most = std::min({most, out, in});
  }
  return most;
}

}  // namespace

NodeWires::NodeWires(std::span<const topology::DeviceId> members, const topology::Cluster& cluster, Relays relays)
    : size_(static_cast<int>(members.size())) {
  std::vector<topology::Route> routes;
  for (const topology::DeviceId a : members)
    for (const topology::DeviceId b : members) {
      routes.push_back(route_between(a, b, cluster, relays));
      ids_.insert(ids_.end(), routes.back().links.begin(), routes.back().links.end());
    }
  std::ranges::sort(ids_);
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  for (const topology::LinkId l : ids_) capacity_.push_back(cluster.link(l).built.value());
  for (const topology::Route& r : routes) {
    pairs_.emplace_back();
    for (const topology::LinkId l : r.links) pairs_.back().push_back(local(l));
    kinds_.push_back(r.kind);
  }
  for (int a = 0; a < size_; ++a) {
    std::vector<int> others;
    for (int step = 1; step < size_; ++step) others.push_back((a + step) % size_);
    // The nearest, widest and shortest routes first: a good order is found early, and cuts the rest.
    std::ranges::stable_sort(others, {}, [&](int b) {
      const topology::Route& r = routes[index(a, b)];
      return std::tuple(r.kind, -r.built.value(), r.links.size());
    });
    candidates_.push_back(std::move(others));
  }
}

int NodeWires::local(topology::LinkId link) const {
  const auto at = std::ranges::lower_bound(ids_, link);
  return at != ids_.end() && *at == link ? static_cast<int>(at - ids_.begin()) : -1;
}

NodeOrder best_cycle(const NodeWires& wires, const std::vector<double>& free) {
  return Search(wires, free, std::vector<int>(free.size()), most_of_a_cycle(wires, free), OrderKind::cycle, 0, 0).run();
}

NodeOrder best_path(const NodeWires& wires, const std::vector<double>& free, const std::vector<int>& crossings, int from, int to,
                    double cap) {
  return Search(wires, free, crossings, cap, OrderKind::path, from, to).run();
}

void keep_to_nearest_cycle(NodeWires& wires) {
  for (const topology::RouteKind kind : kKindsInside) {
    wires.keep_to(kind);
    if (!best_cycle(wires, wires.capacity()).members.empty()) return;
  }
}

void take(std::vector<double>& free, const NodeWires& wires, const NodeOrder& order) {
  const std::size_t n = order.members.size();
  for (std::size_t i = 0; i + (order.kind == OrderKind::cycle ? 0 : 1) < n; ++i)
    for (const int l : wires.links(order.members[i], order.members[(i + 1) % n])) {
      double& left = free[static_cast<std::size_t>(l)];
      left = std::max(0.0, left - order.rate);
    }
}

void share_fairly(std::vector<NodeOrder>& cycles, const NodeWires& wires) {
  std::vector<std::vector<int>> crossings;  // [cycle][link]
  for (const NodeOrder& c : cycles) {
    crossings.emplace_back(wires.capacity().size());
    for (std::size_t i = 0; i < c.members.size(); ++i)
      for (const int l : wires.links(c.members[i], c.members[(i + 1) % c.members.size()])) ++crossings.back()[static_cast<std::size_t>(l)];
  }
  std::vector<double> free = wires.capacity();
  std::vector<bool> fixed(cycles.size());
  for (std::size_t left = cycles.size(); left > 0;) {  // the tightest link fixes the cycles that cross it, and so on
    std::size_t tightest = 0;
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < free.size(); ++l) {
      int users = 0;
      for (std::size_t c = 0; c < cycles.size(); ++c) users += fixed[c] ? 0 : crossings[c][l];
      if (users > 0 && free[l] / users < level) {
        level = free[l] / users;
        tightest = l;
      }
    }
    for (std::size_t c = 0; c < cycles.size(); ++c) {
      if (fixed[c] || crossings[c][tightest] == 0) continue;
      fixed[c] = true;
      --left;
      cycles[c].rate = level;
      for (std::size_t l = 0; l < free.size(); ++l) free[l] -= level * crossings[c][l];
    }
  }
}

}  // namespace sim
