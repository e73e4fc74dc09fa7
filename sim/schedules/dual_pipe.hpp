#pragma once
// DualPipe's order of passes. Internal to sim/schedules.

#include "sim/schedules/schedule.hpp"

namespace sim {

// Chunk 0 of a pair of ranks is the stage that lies nearer to the end where micro-batches of its direction begin, chunk 1 the other one.
[[nodiscard]] std::vector<Slot> dual_pipe(const Schedule& s, int rank);

}  // namespace sim
