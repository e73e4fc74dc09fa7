#pragma once
// What moved over the links of the cluster in an iteration.

#include <optional>
#include <span>
#include <vector>

#include "sim/accounting/accounts.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Returns: bytes of all devices, those that folding left out included.
// Cost: O(tasks + transfer classes x their flows).
[[nodiscard]] CommunicationBytes count_bytes(const Accounts& a);
// The type of the link that a transfer keeps busy longest, by bytes over bandwidth; "none": it crosses none.
// Cost: O(links that its flows cross).
[[nodiscard]] std::string_view narrowest_link(const Accounts& a, const TransferClass& transfer);

// Returns: how long each class of links is busy: bytes over bandwidth.
// Cost: O(tasks + transfer classes x their flows).
[[nodiscard]] std::vector<base::Seconds> link_busy(const Accounts& a);

// Returns: the link that works longest, the first of its class; nullopt when nothing moves.
[[nodiscard]] std::optional<BusiestLink> busiest_link(std::span<const base::Seconds> busy, base::Seconds iteration, const Folded& folded,
                                                      const Traffic& traffic, const topology::Cluster& cluster);

}  // namespace sim
