#pragma once
// A task graph: tasks on streams, bytes on links, seconds. Nothing here knows of operators or plans. Start here:
//   task_graph.hpp      TaskGraph: what is run; Timeline: when it ran
//   simgrid_engine.hpp  simulate(): from the one to the other (simgrid_versions.hpp: what SimGrid's releases differ in)
//   executor.hpp        Executor: when tasks run, over a FlowNetwork
//   phases_alone.hpp    phase_alone(): flows that share no link with others
//
// A stream runs its tasks one at a time in the order of TaskGraph::order. A task starts when it heads all its streams and all its
// dependencies have ended. A task runs its phases one after another; a phase lasts `delay`, and then as long as its flows need. Flows
// share links max-min fairly; a flow crosses each link of its route `weight` times at once (folded symmetric flows:
// sim/folding/folding.hpp).

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace sim {

struct WeightedLink {
  std::uint32_t link = 0;  // index into TaskGraph::links
  double weight = 1;
  auto operator<=>(const WeightedLink&) const = default;
};

struct Flow {
  std::uint32_t route = 0;  // index into TaskGraph::routes
  base::Bytes bytes;
  bool operator==(const Flow&) const = default;
};

struct Phase {
  base::Seconds delay;
  std::vector<Flow> flows;
  bool operator==(const Phase&) const = default;
};

// transfer: slows the kernels that overlap with it on the devices whose streams it takes (TaskGraph::slowdown). host: neither slows nor is
// slowed, and so are copies to and from hosts, which take no kernels of the device.
enum class StepKind : std::uint8_t { kernels, transfer, host };

// The work that many tasks have in common: a fused run of kernels, or one collective of one size among one group.
struct Step {
  std::vector<Phase> phases;
  StepKind kind = StepKind::kernels;
};

struct Task {
  std::uint32_t step = 0;
  std::uint32_t streams_begin = 0, streams_end = 0;            // in TaskGraph::task_streams
  std::uint32_t dependencies_begin = 0, dependencies_end = 0;  // in TaskGraph::task_dependencies; each an earlier or later task, no cycles
};

struct Stream {
  std::uint32_t device = 0;
};

struct TaskGraph {
  std::vector<base::BytesPerSecond> links;
  std::vector<std::vector<WeightedLink>> routes;  // links of a route, each once
  std::vector<Step> steps;
  std::vector<Stream> streams;
  std::vector<double> slowdown;  // per device: kernels overlapped with a transfer take this many times as long; at least 1
  std::vector<Task> tasks;
  std::vector<std::uint32_t> order;  // all tasks as streams take them; empty: as they are numbered
  std::vector<std::uint32_t> task_streams;
  std::vector<std::uint32_t> task_dependencies;

  // The task that streams take as the n-th.
  [[nodiscard]] std::uint32_t ordered(std::uint32_t n) const { return order.empty() ? n : order[n]; }
  // Adds a task of a step after those that are there, on these streams, after these tasks.
  // Returns: its number.
  std::uint32_t add(std::uint32_t step, std::span<const std::uint32_t> on_streams, std::span<const std::uint32_t> after);
};

// When each task ran; one entry per task.
struct Timeline {
  std::vector<base::Seconds> start, end;
  base::Seconds makespan;
  std::uint64_t activities = 0;  // delays and flows that were simulated
};

}  // namespace sim
