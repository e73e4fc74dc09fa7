#pragma once
// A collective as phases of a latency and flows over a cluster's links.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "profiles/kinds.hpp"
#include "profiles/network_profile.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Route classes: routes that cost a message the same, whatever the library. A group of a thousand has thousands of routes but a handful
// of route classes (over NVLink, over one adapter to the next node), so that a protocol's cost is found per class.
// Index into RouteClasses::all().
using RouteClassId = base::Id<struct RouteClassTag>;

struct RouteClass {
  base::Seconds latency;                                                // of the wires
  std::vector<std::pair<std::string, base::BytesPerSecond>> narrowest;  // by link type, sorted: the bandwidth of its narrowest link
  bool operator==(const RouteClass&) const = default;
};

// Numbers route classes as they come. The cluster outlives it.
class RouteClasses {
 public:
  explicit RouteClasses(const topology::Cluster& cluster) : cluster_(cluster) {}
  // Cost: O(links of the route + classes so far).
  [[nodiscard]] RouteClassId of(const topology::Route& route);
  [[nodiscard]] std::span<const RouteClass> all() const { return classes_; }
  [[nodiscard]] const RouteClass& operator[](RouteClassId id) const { return classes_[id.value]; }

 private:
  const topology::Cluster& cluster_;
  std::vector<RouteClass> classes_;
};

using profiles::Algorithm;
using profiles::CollectiveKind;
using profiles::kAlgorithms;

// How members of an all-to-all forward what comes (plan_collective.hpp). Rows are units that travel whole, here tokens.
struct Forwarding {
  double copies = 0;  // of what comes to a domain, within it; 0: nothing is passed on
  bool bulk = false;  // by bulk copies of rows (Algorithm::bulk_forwarded), or by loads and stores (Algorithm::forwarded)
  // Bulk copies, per byte of S: rows that a rank sends, once for each rank of the domain that may want them, or reads to sum them up.
  double rows = 0;
  bool sums = false;  // on the way back
  auto operator<=>(const Forwarding&) const = default;
};

// `bytes` are those that are wanted. The library does not fill its links: they are busy as with bytes * wire_factor, and that is what
// shares them with other traffic.
struct CollectiveFlow {
  topology::DeviceId from, to;
  std::vector<topology::LinkId> links;
  base::Bytes bytes;
  RouteClassId route_class;
  double wire_factor = 1;  // at least 1
  int copies = 1;          // equal messages side by side, which have a part of the bytes each
  [[nodiscard]] base::Bytes on_wire() const { return bytes * wire_factor; }
};

// Part of a chain of messages that wait for each other: `count` messages over routes of one class.
struct Hops {
  RouteClassId route_class;
  double count = 0;
};

// Phases run one after another: latency first, then all flows of the phase together.
struct CollectivePhase {
  base::Seconds latency;
  std::vector<CollectiveFlow> flows;
  std::vector<Hops> chain;  // the longest: what `latency` is made of
};

struct Collective {
  Algorithm algorithm = Algorithm::ring;  // the one used
  int rings = 1;                          // channels used
  std::vector<CollectivePhase> phases;
  base::Seconds estimate;                             // sum over phases of latency + the busiest link's bytes / bandwidth: it takes no less
  std::optional<profiles::Protocol> protocol;         // nullopt: alpha-beta
  profiles::Basis basis = profiles::Basis::defaults;  // fitted: by a network profile
};

}  // namespace sim
