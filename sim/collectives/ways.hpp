#pragma once
// Ways: routes that cost a message the same, whatever the library. A group of a thousand has thousands of routes but a handful of ways
// (over NVLink, over one adapter to the next node), so that protocols are priced per way.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "topology/cluster.hpp"

namespace sim {

struct Way {
  base::Seconds latency;                                                // of the wires
  std::vector<std::pair<std::string, base::BytesPerSecond>> narrowest;  // by link type, sorted: its narrowest link
  bool operator==(const Way&) const = default;
};

// Numbers ways as they come.
class Ways {
 public:
  explicit Ways(const topology::Cluster& cluster) : cluster_(cluster) {}
  [[nodiscard]] std::uint32_t of(const topology::Route& route);
  [[nodiscard]] std::span<const Way> all() const { return ways_; }

 private:
  const topology::Cluster& cluster_;
  std::vector<Way> ways_;
};

// Of the ways seen the one whose wires are slowest.
class SlowestWay {
 public:
  explicit SlowestWay(const Ways& ways) : ways_(&ways) {}
  void see(std::uint32_t way) {
    if (!any_ || ways_->all()[way].latency > ways_->all()[way_].latency) way_ = way;
    any_ = true;
  }
  // So many messages over it; none where none was seen.
  void add_to(std::vector<Hops>& chain, double count) const {
    if (any_ && count > 0) chain.push_back({way_, count});
  }

 private:
  const Ways* ways_;
  std::uint32_t way_ = 0;
  bool any_ = false;
};

}  // namespace sim
