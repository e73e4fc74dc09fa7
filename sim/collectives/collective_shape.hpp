#pragma once
// The shape of a planned collective: how many messages wait for each other and how loaded its links are, route class by route class. It
// does not depend on the library, so a fit of a network profile finds the cost of the same shapes many times.

#include <span>
#include <vector>

#include "sim/channels/routes.hpp"
#include "sim/collectives/collective.hpp"

namespace sim {

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

}  // namespace sim
