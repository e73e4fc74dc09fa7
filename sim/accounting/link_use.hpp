#pragma once
// How an iteration uses its links, by type and over time.

#include <vector>

#include "sim/accounting/account.hpp"
#include "sim/accounting/playback.hpp"
#include "sim/results/why.hpp"

namespace sim {

// `whole`: the account of the iteration, of which `playback` says where it is found in the simulated one.
// A transfer's bytes are spread evenly over the time that its phase takes. Of phases that follow each other in a transfer each takes, after
// its latency, its share of what is left, in proportion to the time that its busiest link takes. Where transfers that share a link would
// have it carry more than it can in some part of the iteration, the rest is counted in the parts next to it.
// Returns: the types that carry something, that with the busiest link first; without their LinkUse::bytes, which are count_bytes'.
// Cost: O(links of all flows + tasks that are transfers x phases).
[[nodiscard]] std::vector<LinkUse> link_use(const Accounts& a, const Account& whole, const Playback& playback);

}  // namespace sim
