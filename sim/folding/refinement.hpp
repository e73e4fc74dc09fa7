#pragma once
// Colour refinement over devices, links, strands and transfers. Internal to sim/folding.

#include <cstdint>
#include <vector>

#include "sim/folding/traffic.hpp"

namespace sim {

// Colours are numbered from 0 in the order in which they are first met.
struct Colours {
  std::vector<std::uint32_t> device;    // per device of the cluster; kUnused of Folded where it takes no part
  std::vector<std::uint32_t> link;      // per Traffic::links
  std::vector<std::uint32_t> transfer;  // per Traffic::transfers
  std::vector<std::uint32_t> strand;    // per Traffic::strands
};

// The coarsest equitable partition (sim/folding/folding.hpp) that keeps apart what differs by itself: device types, which operators a
// device runs, bandwidths, movements, rounds, bytes and delays. Signatures are compared by 128 bits of hash.
// Cost: rounds of refinement x O(strands x links of each + members of transfers).
[[nodiscard]] Colours refine(const Program& program, const Traffic& traffic, const topology::Cluster& cluster);
// Everything a colour of its own.
[[nodiscard]] Colours all_distinct(const Program& program, const Traffic& traffic, const topology::Cluster& cluster);

}  // namespace sim
