#pragma once
// Orders of the GPUs of one node for rings: cycles and paths through all of them whose narrowest wire is as wide as possible, where
// a wire that an order crosses k times gives each crossing 1/k. Private to sim/channels.

#include <array>
#include <ranges>
#include <span>
#include <vector>

#include "sim/channels/channels.hpp"
#include "topology/cluster.hpp"

namespace sim {

// The kinds of routes inside a node, nearest first.
inline constexpr std::array kKindsInside = {topology::RouteKind::fabric, topology::RouteKind::switches, topology::RouteKind::one_socket,
                                            topology::RouteKind::sockets, topology::RouteKind::gpus};

// The routes between some devices of one node, with their links renumbered from 0.
class NodeWires {
 public:
  // Requires: `members` are of one node.
  NodeWires(std::span<const topology::DeviceId> members, const topology::Cluster& cluster, Relays relays);

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] std::span<const int> links(int from, int to) const { return pairs_[index(from, to)]; }
  // Leaves out hops over routes of a further kind. At first there are hops of all kinds.
  void keep_to(topology::RouteKind furthest) { furthest_ = furthest; }
  [[nodiscard]] topology::RouteKind furthest() const { return furthest_; }
  [[nodiscard]] bool has_hop(int from, int to) const { return kinds_[index(from, to)] <= furthest_; }
  // The other members that a hop leads to, best next one first: nearest kind of route, widest, fewest links, then next in number.
  [[nodiscard]] auto candidates(int from) const {
    return candidates_[static_cast<std::size_t>(from)] | std::views::take_while([this, from](int to) { return has_hop(from, to); });
  }
  // Bytes per second, as built, of every link that some route here crosses, indexed as links() has them.
  [[nodiscard]] const std::vector<double>& capacity() const { return capacity_; }
  // The number here of a link of the cluster, or -1.
  [[nodiscard]] int local(topology::LinkId link) const;

 private:
  [[nodiscard]] std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * size_ + to); }

  int size_;
  std::vector<topology::LinkId> ids_;  // sorted
  std::vector<double> capacity_;
  std::vector<std::vector<int>> pairs_;
  std::vector<topology::RouteKind> kinds_;  // by pair
  topology::RouteKind furthest_ = topology::RouteKind::network;
  std::vector<std::vector<int>> candidates_;
};

// A cycle ends where it starts; a path does not come back.
enum class OrderKind { cycle, path };

struct NodeOrder {
  OrderKind kind = OrderKind::cycle;
  std::vector<int> members;  // every member once, by number; empty: none was found
  double rate = 0;           // bytes per second, at most the cap
};

// The widest cycle, from member 0, and the widest path between two members, of at most the rate `cap`.
// free: bytes per second that are left of each link, by NodeWires' numbers. crossings: how often each link is crossed besides.
// Returns: the first of the widest in the order of NodeWires::candidates; the widest found so far after a fixed number of steps
// (kMostSteps in path_search.cpp), which eight GPUs never reach.
// Requires: at least two members.
[[nodiscard]] NodeOrder best_cycle(const NodeWires& wires, const std::vector<double>& free);
[[nodiscard]] NodeOrder best_path(const NodeWires& wires, const std::vector<double>& free, const std::vector<int>& crossings, int from,
                                  int to, double cap);
// Keeps to the nearest kinds of routes over which a cycle passes all members.
// Requires: at least two members.
// Cost: that of best_cycle for each kind that is tried.
void keep_to_nearest_cycle(NodeWires& wires);
// Takes what an order uses at its rate out of `free`.
void take(std::vector<double>& free, const NodeWires& wires, const NodeOrder& order);

// Sets the rates of cycles that run at once to their max-min fair ones: with bytes in this proportion all end together.
void share_fairly(std::vector<NodeOrder>& cycles, const NodeWires& wires);

}  // namespace sim
