#pragma once
// A whole iteration as stretches of one that was simulated with fewer micro-batches: some are played again and again.

#include <vector>

#include "sim/accounting/accounts.hpp"

namespace sim {

// The stretch of `length` seconds from `at` on is followed by so many further copies of itself.
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
// Requires: there is such a pass. Cost: O(instances + entries of one).
[[nodiscard]] double begin_of(const Accounts& a, bool forward, int micro_batch);

}  // namespace sim
