#pragma once
// Shortest ways over links between switches. Private to this folder.

#include <span>
#include <vector>

#include "topology/networks/switch_network.hpp"

namespace topology {

// The links that leave each switch.
class SwitchGraph {
 public:
  static constexpr int kUnreached = -1;

  // `left`: per link, 0 where it is gone; empty: all are there. The links outlive it.
  SwitchGraph(int switches, std::span<const SwitchLink> links, const std::vector<double>& left);
  SwitchGraph(const SwitchGraph&) = delete;
  SwitchGraph& operator=(const SwitchGraph&) = delete;

  // Links that are there, ascending.
  [[nodiscard]] std::span<const int> leaving(int network_switch) const { return leaving_[static_cast<std::size_t>(network_switch)]; }
  [[nodiscard]] int switches() const { return static_cast<int>(leaving_.size()); }
  // Returns the number of links on a shortest way from every switch to one, or kUnreached. Cost: O(links).
  [[nodiscard]] std::vector<int> distances_to(int to) const;

 private:
  std::span<const SwitchLink> links_;
  std::vector<std::vector<int>> leaving_, entering_;  // per switch
};

}  // namespace topology
