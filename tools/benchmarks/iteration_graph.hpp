#pragma once
// A training iteration as the engine sees it, for benchmarks: `layers` layers forward and backward on each of `gpus` GPUs, six to a node
// as on Summit, and one ring all-reduce of each layer's gradients behind its backward pass, a flow per edge of the ring.

#include "sim/engine/task_graph.hpp"

namespace benchmarks {

// Links: one NVLink out of each GPU, one NIC out and one in per node. Requires: gpus >= 2.
[[nodiscard]] sim::TaskGraph iteration_graph(int gpus, int layers);

}  // namespace benchmarks
