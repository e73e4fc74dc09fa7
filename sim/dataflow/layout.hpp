#pragma once
// Where the shards of a tensor lie: a parallel shape and one device per shard. The two ends of every movement.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace sim {

struct Layout {
  pcg::ParallelShape shape;
  std::vector<base::DeviceId> devices;  // one per shard, by shard number
  [[nodiscard]] double shard_elements() const { return static_cast<double>(shape.shard().elements()); }
  bool operator==(const Layout&) const = default;
};

// The layouts of a computing node of a plan: of its inputs, its outputs and the gradients of both.
struct NodeLayouts {
  std::vector<base::DeviceId> points;  // device of each point of the task space
  std::vector<Layout> inputs, outputs;
  std::vector<Layout> input_gradients, output_gradients;
};

// The layouts of a plan's nodes. Nodes with equal loops, shardings, shapes and devices have theirs in common: what repeats from layer to
// layer is laid out once.
class PlanLayouts {
 public:
  // Cost: O(nodes), and O(points) for each node that differs from all before it.
  explicit PlanLayouts(const pcg::Plan& plan);

  // Returns the layouts of a node of the plan's PCG; empty for sources and parallel operators.
  [[nodiscard]] const NodeLayouts& operator[](std::size_t node) const { return distinct_[number_[node]]; }
  // Nodes of one number have their layouts in common. Numbers index `distinct`.
  [[nodiscard]] std::uint32_t number(std::size_t node) const { return number_[node]; }
  [[nodiscard]] const std::vector<NodeLayouts>& distinct() const { return distinct_; }

 private:
  std::vector<std::uint32_t> number_;  // per node
  std::vector<NodeLayouts> distinct_;  // in the order of the first node of each; the first is empty
};

// Sorts a list and leaves one of each.
template <class T>
void make_ascending(std::vector<T>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// The tensor at the start of a chain of parallel operators: the output of a computing node or source.
[[nodiscard]] pcg::TensorRef origin(const pcg::Pcg& pcg, pcg::TensorRef t);

}  // namespace sim
