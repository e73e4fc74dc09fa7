#pragma once
// Collectives inside one operator whose loops of kind Cut::internal are cut.

#include <span>
#include <vector>

#include "pcg/sharding/sharding.hpp"

namespace pcg {

// A collective among the points that differ in one loop alone, a loop of kind Cut::internal that is cut.
struct InternalCollective {
  // all_gather: every point needs all of `shape`, of which each holds a part; a ring may bring the parts one by one.
  // halo_before: every point but the first gets `shape` from the neighbour before it; halo_after: every point but the last gets it from
  // the neighbour after it.
  enum class Kind { all_reduce, all_gather, reduce_scatter, halo_before, halo_after };
  Kind kind = Kind::all_reduce;
  int loop = 0;
  TensorShape shape;      // the full buffer at one point (the size S of nccl-tests)
  bool fp32 = false;      // statistics travel in 4 bytes whatever the training precision
  bool backward = false;  // in the backward pass instead of the forward one
};
// Whether it runs before the operator's kernels of its pass; otherwise it runs after them.
[[nodiscard]] bool runs_before(const InternalCollective& c);
// Batch norm cut by samples, rows or columns: all-reduces of its statistics forward and backward. Vocabulary-parallel cross-entropy: three
// all-reduces of [positions] fp32 (max, target logit, sum of exponentials; Megatron-LM, arXiv 1909.08053, section 3). Context-parallel
// attention: all-gather of keys and values forward and again backward, reduce-scatter of their gradients. Convolution and pooling cut by
// rows or columns: each point gets the halos that its windows reach over, `padding` before and kernel - stride - padding after, and gives
// their gradients back; columns after rows, with the rows' halos. Returns them in the order in which they run. Requires: `inputs` are whole
// shapes and space is iteration_space(op, inputs).
[[nodiscard]] std::vector<InternalCollective> internal_collectives(const Operator& op, const IterationSpace& space,
                                                                   const Sharding& sharding, std::span<const TensorShape> inputs);

// Returns the shapes of the inputs' shards at the point that holds most: one with a neighbour on either side where there are three blocks
// or more, else the one that gets the larger halo. internal_collectives() says how the halos come in.
// Requires: `inputs` are whole shapes and space is iteration_space(op, inputs).
[[nodiscard]] std::vector<TensorShape> shards_with_halos(const Operator& op, const IterationSpace& space, const Sharding& sharding,
                                                         std::span<const TensorShape> inputs);

}  // namespace pcg
