#pragma once
// One operator on one shard, over the field. A shard knows its place in the whole tensor, because vocabulary ranges, masks and causal
// attention depend on the position. Private to pcg/evaluator; the arithmetic is in field_kernels.hpp.

#include <cstdint>
#include <span>
#include <vector>

#include "pcg/evaluator/evaluator.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/operators/operator.hpp"

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

// Copies `length` layers of an axis from one tensor to another.
void copy_layers(const FieldTensor& from, std::int64_t begin, FieldTensor& to, std::int64_t at, std::int64_t length, std::size_t axis);
// Return zeros in a shape, or in that of an output.
[[nodiscard]] FieldTensor blank(TensorShape shape);
[[nodiscard]] inline FieldTensor blank(const OutputShard& out) { return blank(out.shape); }
// Returns the number of an element in the whole tensor, from its number `index` in a row-major shard of these sizes.
[[nodiscard]] std::uint64_t global_index(const Place& place, const std::vector<std::int64_t>& sizes, std::int64_t index);

// Returns one tensor per output. Requires: op is no source.
[[nodiscard]] std::vector<FieldTensor> run_shard(const Operator& op, const ShardTask& task);

// The two that have a source of their own.
[[nodiscard]] FieldTensor run_attention(const Attention& op, const ShardTask& task);
[[nodiscard]] FieldTensor run_state_space(const StateSpace& op, const ShardTask& task);

// Returns the stand-in at x, whether an operator of its own or a Linear applies it.
[[nodiscard]] inline std::uint32_t activate(Activation a, std::uint32_t x) {
  constexpr std::uint64_t kActivation = 1;  // keeps activations apart from the stand-ins of other functions (evaluator_operator.cpp)
  return a == Activation::none ? x : field::Hash(kActivation)(static_cast<std::uint64_t>(a))(x).element();
}

}  // namespace pcg
