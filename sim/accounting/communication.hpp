#pragma once
// What moved over the links of the cluster in an iteration.

#include <optional>

#include "sim/accounting/accounts.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Returns: bytes of all devices, those that folding left out included.
// Cost: O(tasks + transfer classes x their flows).
[[nodiscard]] CommunicationBytes count_bytes(const Accounts& a);

// Returns: the link that works longest, the first of its class; nullopt when nothing moves.
// Cost: O(tasks x their flows).
[[nodiscard]] std::optional<BusiestLink> busiest_link(const Accounts& a);

}  // namespace sim
