#pragma once
// A block of a program as one step of its pipeline rank: when its events are signalled and its streams become free, if it
// starts at 0 and waits for nothing.
// Private to this folder.

#include <vector>

#include "search/cost/replay.hpp"

namespace search {

// A block by itself.
struct Run {
  double computed = 0, drained = 0;            // its kernels have ended; its collectives too
  double synchronised = 0, synchronising = 0;  // collectives of gradients and weights have ended; their seconds
  double launched = 0;                         // host seconds
  std::vector<Signal> signals;
};

struct StageBlock {
  Run ahead, in_step;  // by what the hosts do; the same signals in the same order
  std::vector<sim::EventId> waits_on;
  bool host_waits = false, host_drains = false;
  bool gathers = false;  // kernels wait for collectives of weights
};

// Cost: O(items of the block).
[[nodiscard]] StageBlock stage_block(const sim::Block& block, const sim::Program& program, const ItemCosts& costs);

}  // namespace search
