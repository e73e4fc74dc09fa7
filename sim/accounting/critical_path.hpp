#pragma once
// The critical path of an iteration: the chain of tasks, each of which started when the one before it ended, up to the task that ends last.
// Only what is on it makes the iteration shorter.

#include <cstdint>
#include <map>
#include <vector>

#include "sim/accounting/predecessors.hpp"
#include "sim/results/why.hpp"

namespace sim {

// Seconds of the path by what is on it.
using PathTimes = std::map<OnPath, base::Seconds>;

// Returns: the tasks of the path, in order; each begins when the one before it ends. Of several that could have been waited for the first
// counts, dependencies before streams; of several that end last that with the lowest number.
// Cost: O(log tasks + dependencies) for each.
[[nodiscard]] std::vector<std::uint32_t> critical_tasks(const Accounts& a, const Predecessors& predecessors);

// Returns: times that add up to the makespan; none is below 0.
// Cost: that of critical_tasks, and O(entries of blocks and their parts).
[[nodiscard]] PathTimes critical_path(const Accounts& a, const Predecessors& predecessors);

// The path of an iteration that takes `all`, by sums over the paths of two simulated ones. Where those do not take the same way, some sum
// may be below no time: then the parts are those of one that was simulated, in proportion.
[[nodiscard]] PathTimes path_of_sums(PathTimes sums, const PathTimes& simulated, base::Seconds all);

// Returns: the longest parts, the longest first; those behind them are one part for each kind, "other".
[[nodiscard]] std::vector<PathPart> longest_parts(const PathTimes& path);

}  // namespace sim
