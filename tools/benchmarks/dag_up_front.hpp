#pragma once
// The comparison for the engine: the whole iteration as one SimGrid DAG, built before it runs, the way SimGrid's own examples do.

#include <cstdint>

#include "base/units.hpp"

namespace benchmarks {

struct DagRun {
  base::Seconds makespan;
  std::uint64_t activities = 0;
};

// The same iteration as iteration_graph(gpus, layers), one Exec per kernel, one Comm per ring edge, one Exec per all-reduce for its
// latency.
[[nodiscard]] DagRun run_dag_up_front(int gpus, int layers);

}  // namespace benchmarks
