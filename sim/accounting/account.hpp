#pragma once
// The account of a simulated iteration: what of it grows with the number of micro-batches. Once an iteration repeats itself
// (sim/accounting/steady_state.hpp) each number grows by the same amount with every further period. Start here:
//   accounts.hpp      Accounts: the input, an iteration with all that it was made of
//   account.hpp       account_of(): breakdown, critical path and counts; continued(): those of further periods
//   steady_state.hpp  period_of(), repeats_of(): whether the iteration repeats itself
//   over_time.hpp     link_use(), memory_samples(), spans_of() (trace.cpp): the iteration over time

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "sim/accounting/accounts.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// The critical path of an iteration: the chain of tasks, each of which started when the one before it ended, up to the task that ends last.
// Only what is on it makes the iteration shorter.
// Seconds of the path by what is on it.
using PathTimes = std::map<OnPath, base::Seconds>;

// Returns: the tasks of the path, in order; each begins when the one before it ends. Of several that could have been waited for the first
// counts, dependencies before streams; of several that end last that with the lowest number.
// Cost: O(log tasks + dependencies) for each.
[[nodiscard]] std::vector<std::uint32_t> critical_tasks(const Accounts& a, const Predecessors& predecessors);

// Returns: times that add up to the makespan; none is below 0.
// Cost: that of critical_tasks, and O(entries of blocks and their parts).
[[nodiscard]] PathTimes critical_path(const Accounts& a, const Predecessors& predecessors);

// The path of an iteration that takes `all`, by sums over the paths of two simulated ones. Where those run through different tasks, some
// sum may be below no time: then the parts are those of one that was simulated, in proportion.
[[nodiscard]] PathTimes path_of_sums(PathTimes sums, const PathTimes& simulated, base::Seconds all);

// Returns: the longest parts, the longest first; those after them are one part for each kind, "other".
[[nodiscard]] std::vector<PathPart> longest_parts(const PathTimes& path);

struct Account {
  base::Seconds iteration_time;
  std::vector<Breakdown> stages;  // all that waits for other stages is `bubble`
  PathTimes path;
  std::vector<double> executed;                       // per class of transfers: how often it ran
  profiles::ByBasis<base::Seconds> compute_by_basis;  // over all simulated devices
  std::uint64_t activities = 0;                       // that were simulated
};

[[nodiscard]] Account account_of(const Accounts& a);

// Returns the second account less the first.
[[nodiscard]] Account difference(const Account& at, const Account& next);

// Two accounts that differ by a period, continued by `periods` periods more.
[[nodiscard]] Account continued(const Account& at, const Account& next, double periods);

// Returns: SimulationResult::stages, but for waits for other stages, which are all in `bubble`: imbalance is not a sum over micro-batches.
// The parts of each add up to the makespan.
// Cost: O(tasks log tasks).
[[nodiscard]] std::vector<Breakdown> break_down(const Accounts& a, const Predecessors& predecessors);

// Moves what is above `empty` of an iteration of `all` from bubble to imbalance. Idle below 0, of 2BW's hosts that get ahead, shortens it.
void split_waits(std::vector<Breakdown>& stages, base::Seconds all, double empty);
// Requires: there are some.
[[nodiscard]] Breakdown mean_of(std::span<const Breakdown> stages);

// Returns: bytes of all devices, those that folding left out included. `executed`: how often each class of transfers ran.
// Cost: O(transfer classes x their flows).
[[nodiscard]] CommunicationBytes count_bytes(std::span<const double> executed, const Folded& folded, const Traffic& traffic,
                                             const topology::Cluster& cluster);

// The type of the link that a transfer keeps busy longest, by bytes over bandwidth; "none": it crosses none.
// Cost: O(links of the traffic + links that its flows cross).
[[nodiscard]] std::string_view narrowest_link(const Accounts& a, const TransferClass& transfer);

}  // namespace sim
