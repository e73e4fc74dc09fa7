#pragma once
// Hops: the messages between neighbours of a channel, with the share of the bytes that each carries.

#include <span>
#include <vector>

#include "sim/channels/channels.hpp"

namespace sim {

struct Hop {
  topology::DeviceId from, to;
  int nic_from = 0, nic_to = 0;  // where they are in different nodes
  double share = 1;
  Relays relays = Relays::none;
};

// Hops with equal ends and NICs are joined and their shares added. Returns: ascending by ends and NICs.
[[nodiscard]] std::vector<Hop> joined(std::vector<Hop> hops);
// Each channel as a ring: along its path, and from its last device to its first; every second node is passed backwards. Joined.
[[nodiscard]] std::vector<Hop> ring_hops(std::span<const Channel> channels);
// The route that a hop's messages take.
[[nodiscard]] topology::Route route_of(const Hop& hop, const topology::Cluster& cluster);

}  // namespace sim
