#pragma once
// Where the shards of a tensor lie: a parallel shape and one device per shard. The two ends of every movement.

#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace sim {

struct Layout {
  pcg::ParallelShape shape;
  std::vector<base::DeviceId> devices;  // one per shard, by shard number
  bool operator==(const Layout&) const = default;
};

// The four layouts that a computing node of a plan has, one per input or output; built once per plan.
struct NodeLayouts {
  std::vector<base::DeviceId> points;  // device of each point of the task space
  std::vector<Layout> inputs, outputs;
  std::vector<Layout> input_gradients, output_gradients;
};

// One per node; empty for sources and parallel operators. O(nodes x points).
[[nodiscard]] std::vector<NodeLayouts> layouts_of(const pcg::Plan& plan);

// The tensor behind a chain of parallel operators: what a computing node or source put out.
[[nodiscard]] pcg::TensorRef origin(const pcg::Pcg& pcg, pcg::TensorRef t);

}  // namespace sim
