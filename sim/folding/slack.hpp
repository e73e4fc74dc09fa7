#pragma once
// Links between switches that can never be the narrowest: each flow that crosses such a link also crosses a link of a node on its way there
// (or on its way on), and all of those together carry no more than it does. Max-min shares are the same without it, so neither folding nor
// the engine needs it, and devices that differ in nothing else fold. Internal to sim/folding.

#include <vector>

#include "sim/folding/traffic.hpp"

namespace sim {

// Returns one entry per link of the traffic. Cost: O(n log n), n flows over links between switches x links of each.
[[nodiscard]] std::vector<bool> slack_links(const Traffic& traffic, const topology::Cluster& cluster);

}  // namespace sim
