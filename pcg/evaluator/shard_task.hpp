#pragma once
// The work of one operator on one shard, over the field. A shard knows where it lies in the whole tensor, because vocabulary ranges,
// masks and causal attention depend on the position. Used by the evaluator only.

#include <cstdint>
#include <span>
#include <vector>

#include "pcg/evaluator/evaluator.hpp"

namespace pcg {

// The place of a shard: its first element's coordinates, and the sizes of the whole tensor.
struct Place {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> whole;
};

struct Operand {
  const FieldTensor* values = nullptr;
  Place place;
  [[nodiscard]] const std::vector<std::int64_t>& sizes() const { return values->shape.sizes; }
};

struct OutputShard {
  TensorShape shape;
  Place place;
};

struct ShardTask {
  std::uint64_t name_hash = 0;      // of the node: dropout masks differ from node to node
  std::uint64_t micro_batch = 0;    // and from micro-batch to micro-batch
  bool first_summand = true;        // the coordinates of all summed loops are 0: here a bias is added
  int through = -1;                 // the only input that has partial sums, as in Sharding
  std::span<const Operand> inputs;  // along a loop of kind Cut::internal: whole
  std::span<const OutputShard> outputs;
};

// Returns zeros in the shape of an output.
[[nodiscard]] FieldTensor blank(const OutputShard& out);
// Returns the number of an element in the whole tensor, from its number `index` in a row-major shard of these sizes.
[[nodiscard]] std::uint64_t global_index(const Place& place, const std::vector<std::int64_t>& sizes, std::int64_t index);

}  // namespace pcg
