#pragma once
// Program -> TaskGraph: blocks compiled for classes of devices, copied once per micro-batch in the order of the schedule.

#include "sim/engine/task_graph.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/unrolling/compiled_block.hpp"

namespace sim {

// One copy of a block: its entries are tasks first .. first + entries.size() - 1.
struct BlockInstance {
  std::uint32_t block = 0;  // index into Unrolled::blocks
  std::uint32_t first = 0;
  int stage = 0;
  int micro_batch = 0;  // of an update: its iteration
  Pass pass = Pass::forward;
  bool merged = false;  // a forward pass, with the backward pass of the next instance (Slot::merged)
};

struct Unrolled {
  TaskGraph graph;
  std::vector<CompiledBlock> blocks;
  std::vector<BlockInstance> instances;  // by first task
};

// Returns: a graph whose order of tasks is, for each device, that in which it runs them.
// micro_batches: their number, whatever the plan says; three at least where it is not the plan's own. A schedule that runs on has those
// of as many iterations, each of which ends with an update.
// Cost: O(tasks + dependencies x log of the signals of a block).
[[nodiscard]] Unrolled unroll(const Program& program, const Folded& folded, const pcg::Plan& plan, int micro_batches,
                              const topology::Cluster& cluster);

}  // namespace sim
