#pragma once
// What a planned collective costs with a library's protocol: its shape (how many messages wait for each other, how loaded its links are,
// way by way) does not depend on the library; a price does. A fit of a network profile prices the same shapes many times.

#include <optional>
#include <span>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/ways.hpp"

namespace sim {

struct PhaseShape {
  std::vector<Hops> chain;
  // Links that may be the busiest: seconds of its flows at full bandwidth, one number per way.
  std::vector<std::vector<double>> loads;
};

struct Shape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  int ranks = 1;
  std::vector<Way> ways;   // of the request: `used` says which this plan's messages take
  std::vector<bool> used;  // per way
  std::vector<PhaseShape> phases;
};

struct Price {
  std::vector<base::Seconds> latency;   // per phase; the call's own is in the first
  std::vector<double> cost;             // per way, as CollectiveFlow::cost
  base::Seconds latency_sum, transfer;  // the estimate is their sum; transfer is in proportion to the bytes
  profiles::Basis basis = profiles::Basis::defaults;
};

// Wires only.
[[nodiscard]] Price price(const Shape& s);
// nullopt: the library does not use this algorithm or protocol on these links. A shape none of whose link types the profile knows is
// priced by its wires, for Protocol::simple only.
//   latency = base + sum over hops (wires + max over link types of the hop's latency)
//   cost of a way = (1 + local / rounds) * its narrowest bandwidth / min over link types of (bandwidth * efficiency), so that alone it
//   runs at the least of the shares; rounds: 2 (n-1) for all-reduce, n-1 for the other kinds that keep a part at home.
[[nodiscard]] std::optional<Price> price(const Shape& s, const profiles::NetworkProfile& profile, profiles::Protocol protocol);

// The shape of a plan whose flows and chains are numbered in `ways`. Holds one number per link of the cluster and way, for any number
// of questions.
class ShapeFinder {
 public:
  explicit ShapeFinder(const topology::Cluster& cluster) : cluster_(cluster) {}
  // Cost: O(flows * links of each).
  [[nodiscard]] Shape find(CollectiveKind kind, int ranks, const Collective& plan, std::span<const Way> ways);

 private:
  const topology::Cluster& cluster_;
  std::vector<double> seconds_;  // [link * ways + way]; 0 between questions
};

// The shapes of all algorithms for one byte (times and loads of S bytes are S times as long). For fits.
[[nodiscard]] std::vector<Shape> collective_shapes(CollectiveKind kind, std::span<const topology::DeviceId> group,
                                                   const topology::Cluster& cluster, bool relays);

}  // namespace sim
