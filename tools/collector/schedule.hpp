#pragma once
// Sharing a time budget between groups of cases: at every moment each group has had time in proportion to its weight, so that whenever
// the clock ends the measurement, what is there is balanced.

#include <string>
#include <vector>

#include "tools/collector/grid.hpp"

namespace collector {

// How often a kernel that takes `launch_s` is run: `launches` in a row make a sample (200 us or more together, at most 200: the events
// around them cost microseconds), and `samples` of them, 7 to 51, take about 15 ms where that is possible.
struct Repeats {
  int launches = 1;
  int samples = 7;
};
[[nodiscard]] Repeats repeats_for(double launch_s);
// Wall time of one case, predicted: choice of algorithm and graph (10 ms), two warm-ups and the repeats.
[[nodiscard]] double measuring_seconds(double launch_s);

struct Scheduled {
  Case what;
  std::size_t group = 0;   // index into the groups
  double starts_at_s = 0;  // predicted
};
// Every case of every group, in the order in which they are measured. Cost: O(cases * groups).
[[nodiscard]] std::vector<Scheduled> schedule(const Device& d, const std::vector<Group>& groups);
// How many of the first ones are predicted to start within the budget.
[[nodiscard]] std::size_t within_budget(const std::vector<Scheduled>& order, double budget_s);

// One sentence for each group that is incomplete: "linear bf16: 212 of 600 cases, then the time budget ended".
[[nodiscard]] std::vector<std::string> left_out(const std::vector<Group>& groups, const std::vector<Scheduled>& order,
                                                std::size_t measured);

// Seconds of the parts of the program, of a budget in all. Kernels get what the others leave.
struct Shares {
  double launch = 0, copies = 0, overlap = 0, collectives = 0, kernels = 0;
};
[[nodiscard]] Shares shares_of(double budget_s, int gpus);

}  // namespace collector
