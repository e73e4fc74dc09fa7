#pragma once
// Whether an iteration repeats itself between its warm-up and its end. Then further micro-batches are more of the same, and need not be
// simulated one by one.
//
// The simulation is a deterministic system: what happens after some moment follows from which tasks run then, how long they have run, and
// which have ended. A pipeline rank is never more than its depth of micro-batches ahead of another, so that this state is in the times of
// the last `depth` micro-batches. Where all of these come a fixed time after those of a period before, the state repeats, and so does what
// follows until the schedule runs out of micro-batches. Hosts may get ever farther ahead of their devices: a launch may come earlier from
// period to period, as nothing waits for it any more.

#include <optional>
#include <vector>

#include "sim/accounting/accounts.hpp"

namespace sim {

// A whole iteration as stretches of one that was simulated with fewer micro-batches: some are played again and again.
// The stretch of `length` seconds from `at` on is followed by `copies` further copies of itself.
struct Repeat {
  double at = 0, length = 0, copies = 0;
};

struct Playback {
  double begin_s = 0;           // of the whole iteration, in the simulated one
  std::vector<Repeat> repeats;  // ascending, apart
};

// A moment of the whole iteration, in the simulated one; and how many more copies of each repeat lie before it than there.
struct Moment {
  double at_s = 0;
  std::vector<double> copies;
};
[[nodiscard]] Moment moment_of(const Playback& playback, double time_s);

// The begin of a micro-batch's pass of this kind through the lowest stage that has one: its first kernels.
// Requires: there is such a pass.
// Cost: O(instances + entries of one).
[[nodiscard]] double begin_of(const Accounts& a, bool forward, int micro_batch);

// How an iteration's micro-batches may repeat themselves.
struct Rhythm {
  int unit = 1;   // a period is a multiple of it
  int depth = 1;  // micro-batches that are under way in a pipeline at most
  int most = 1;   // the longest period that is looked for
  // Micro-batches that show whether an iteration repeats itself after a period: `depth` to begin, to compare and to end.
  [[nodiscard]] int needed(int period) const { return 3 * depth + 2 * period; }
};
// A pipeline of p ranks has circuits of up to p micro-batches, from a rank forward to another and back: the slowest makes the period.
// Returns: nullopt: further micro-batches change more than that there are more of them.
[[nodiscard]] std::optional<Rhythm> rhythm_of(const pcg::Plan& plan);

// Returns: the shortest period after which `depth` micro-batches and a period, the last before the end, repeat themselves: in all forward
// passes by one time and in all backward passes by one (the same, unless the schedule is GPipe's, which runs them apart). nullopt: none
// that these micro-batches show. Then iterations of up to two periods fewer do the same and end in the same way: what they compare is as
// long.
// Requires: the iteration was unrolled for `micro_batches`.
// Cost: O(tasks) for each period that is tried.
[[nodiscard]] std::optional<int> period_of(const Accounts& a, int micro_batches, const Rhythm& rhythm);

// Where an iteration of `micro_batches`, for which period_of() has found a period, would have `copies` further copies of it: one stretch,
// or one of forward and one of backward passes where the schedule runs these apart.
// Cost: O(instances).
[[nodiscard]] std::vector<Repeat> repeats_of(const Accounts& a, int micro_batches, int period, const Rhythm& rhythm, double copies);

}  // namespace sim
