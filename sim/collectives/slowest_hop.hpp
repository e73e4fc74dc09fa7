#pragma once
// The slowest of some hops, for the longest chain of a phase. Private to this folder.

#include <optional>
#include <vector>

#include "sim/collectives/collective.hpp"

namespace sim {

class SlowestHop {
 public:
  explicit SlowestHop(const RouteClasses& classes) : classes_(&classes) {}
  void see(RouteClassId c) {
    if (!slowest_ || (*classes_)[c].latency > (*classes_)[*slowest_].latency) slowest_ = c;
  }
  // So many messages over it; none where none was seen.
  void add_to(std::vector<Hops>& chain, double count) const {
    if (slowest_ && count > 0) chain.push_back({*slowest_, count});
  }

 private:
  const RouteClasses* classes_;
  std::optional<RouteClassId> slowest_;
};

}  // namespace sim
