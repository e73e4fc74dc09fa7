#pragma once
// Route classes: routes that cost a message the same, whatever the library. A group of a thousand has thousands of routes but a handful
// of route classes (over NVLink, over one adapter to the next node), so that a protocol's cost is found per class.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/cluster.hpp"

namespace sim {

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

}  // namespace sim
