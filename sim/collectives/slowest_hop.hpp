#pragma once
// The slowest of some hops, for the longest chain of a phase. Private to this folder.

#include <vector>

#include "sim/collectives/collective.hpp"

namespace sim {

class SlowestHop {
 public:
  explicit SlowestHop(const RouteClasses& classes) : classes_(&classes) {}
  void see(RouteClassId c) {
    if (!any_ || (*classes_)[c].latency > (*classes_)[slowest_].latency) slowest_ = c;
    any_ = true;
  }
  // So many messages over it; none where none was seen.
  void add_to(std::vector<Hops>& chain, double count) const {
    if (any_ && count > 0) chain.push_back({slowest_, count});
  }

 private:
  const RouteClasses* classes_;
  RouteClassId slowest_;
  bool any_ = false;
};

}  // namespace sim
