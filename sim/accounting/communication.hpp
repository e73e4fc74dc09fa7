#pragma once
// What moved over the links of the cluster in an iteration.

#include <span>
#include <string_view>
#include <vector>

#include "sim/accounting/accounts.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// How often each class of transfers ran. Cost: O(tasks).
[[nodiscard]] std::vector<double> executions(const Unrolled& unrolled, const Folded& folded);

// Returns: bytes of all devices, those that folding left out included. `executed`: how often each class of transfers ran.
// Cost: O(transfer classes x their flows).
[[nodiscard]] CommunicationBytes count_bytes(std::span<const double> executed, const Folded& folded, const Traffic& traffic,
                                             const topology::Cluster& cluster);

// The type of the link that a transfer keeps busy longest, by bytes over bandwidth; "none": it crosses none.
// Cost: O(links of the traffic + links that its flows cross).
[[nodiscard]] std::string_view narrowest_link(const Accounts& a, const TransferClass& transfer);

}  // namespace sim
