#pragma once
// The time that a collective of a given shape takes, by its wires alone or with a library's protocol.

#include <optional>
#include <span>
#include <vector>

#include "sim/channels/channels.hpp"
#include "sim/collectives/collective.hpp"

namespace sim {

// The shape of a planned collective: how many messages wait for each other and how loaded its links are, route class by route class. It
// does not depend on the library, so a fit of a network profile finds the cost of the same shapes many times.
struct PhaseShape {
  std::vector<Hops> chain;
  // Links that may be the busiest: seconds of its flows at full bandwidth, one number per route class.
  std::vector<std::vector<double>> loads;
};

struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  int ranks = 1;
  std::vector<RouteClass> route_classes;  // of all plans of the request
  std::vector<bool> used;                 // per route class: whether this plan's messages take it
  std::vector<PhaseShape> phases;
};

// Finds the shapes of plans. Holds one number per link of the cluster and route class, for any number of questions.
class ShapeFinder {
 public:
  explicit ShapeFinder(const topology::Cluster& cluster) : cluster_(cluster) {}
  // Requires: the plan's flows and chains are numbered in `route_classes`.
  // Cost: O(flows x links of each).
  [[nodiscard]] CollectiveShape find(CollectiveKind kind, int ranks, const Collective& plan, std::span<const RouteClass> route_classes);

 private:
  const topology::Cluster& cluster_;
  std::vector<double> seconds_;  // [link x route classes + route class]; 0 between questions
};

// The shapes of all algorithms for one byte: loads of S bytes are S times as long. For fits.
// Requires: two devices at least.
[[nodiscard]] std::vector<CollectiveShape> collective_shapes(CollectiveKind kind, std::span<const topology::DeviceId> group,
                                                             const topology::Cluster& cluster, Relays relays);

struct CollectiveCost {
  std::vector<base::Seconds> latency;   // per phase; the call's own is in the first
  std::vector<double> wire_factor;      // per route class: CollectiveFlow::wire_factor
  base::Seconds latency_sum, transfer;  // transfer is in proportion to the bytes
  profiles::Basis basis = profiles::Basis::defaults;
  [[nodiscard]] base::Seconds total() const { return latency_sum + transfer; }
};

// By the latency and bandwidth of the wires.
[[nodiscard]] CollectiveCost cost_of_wires(const CollectiveShape& s);

// Returns: with hops, rounds and shares as the profile has them (docs/architecture.md, "Collectives"),
//   latency = base + sum over hops (wires + max over link types of the hop's latency)
//   wire factor of a route class = (1 + local / rounds for ring and pairwise, else 1) * its narrowest bandwidth / min over link types of
//   (bandwidth * efficiency), so that a message alone runs at the least of the shares; rounds: 2 (n-1) for all-reduce, n-1 for the other
//   kinds that keep a part at home; cost_of_wires for a shape none of whose link types the profile knows, for Protocol::simple only;
//   nullopt where the library does not use this algorithm or protocol on these links.
[[nodiscard]] std::optional<CollectiveCost> cost_of(const CollectiveShape& s, const profiles::NetworkProfile& profile,
                                                    profiles::Protocol protocol);

// Stretches what the wires take to what the kernels of bulk copies take for their rows (NetworkHop::sent_row, summed_row), if that is more:
// the links are busy for as long. `cost`: of `bytes` by `protocol`, as cost_of() has it.
void wait_for_rows(CollectiveCost& cost, const CollectiveShape& s, const profiles::NetworkProfile& profile, profiles::Protocol protocol,
                   const Forwarding& forwarding, base::Bytes bytes);

}  // namespace sim
