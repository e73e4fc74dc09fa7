#pragma once
// How one operator is cut, what parallel shapes its tensors then have, and which shard each point of its task space reads or writes.
// Start here: iteration_space.hpp gives an operator its loops; a Sharding cuts them; input_shape() and output_shape() are ParallelShapes
// (parallel_shape.hpp), between which parallel operators lead; internal_collectives.hpp has the collectives within one operator.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/sharding/iteration_space.hpp"
#include "pcg/sharding/parallel_shape.hpp"

namespace pcg {

// How one operator is cut. Its task space has the axes (sums, copies, loop 0, loop 1, ...); points are numbered in mixed radix, outermost
// axis first.
struct Sharding {
  std::vector<int> degrees;  // one per loop
  int copies = 1;            // points that do the same work
  int sums = 1;              // partial sums that pass through; above 1 only where the operator is linear or `through` names an input
  int through = -1;  // the one input that has the partial sums, whose Passing is not `no`, beside copies of the others; -1: all have

  [[nodiscard]] int points() const;  // size of the task space
  bool operator==(const Sharding&) const = default;
};

// Returns the sharding with every degree 1: the operator runs at one point (Summands: at one point per summand).
[[nodiscard]] Sharding unsharded(const IterationSpace& space);

// Returns why a sharding is not lawful, or nullopt. `inputs` and `outputs` are whole shapes.
[[nodiscard]] std::optional<std::string> violation(const IterationSpace& space, const Sharding& sharding,
                                                   std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);
// The parallel shape that input i must have, and the one that output j has. `whole` is the shape of the whole tensor.
[[nodiscard]] ParallelShape input_shape(const IterationSpace& space, const Sharding& sharding, std::size_t i, const TensorShape& whole);
[[nodiscard]] ParallelShape output_shape(const IterationSpace& space, const Sharding& sharding, std::size_t j, const TensorShape& whole);
// The number of the shard of input i that a point reads, and of output j that it writes. Copies are numbered by (copies, missing loops
// in order), with the sums in front where they pass through another input; sums by (sums, summed loops in order). -1: the point reads
// nothing of this input, as its summand belongs to another input (Summands).
[[nodiscard]] int input_shard(const IterationSpace& space, const Sharding& sharding, std::size_t i, int point);
[[nodiscard]] int output_shard(const IterationSpace& space, const Sharding& sharding, std::size_t j, int point);

// The backward pass sees the same task space. At each point the gradient of an output arrives whole (loops summed away and redundant
// copies: equal copies); the gradient of input i leaves as partial sums over the loops that input lacks (equal copies over summed
// loops that a bias lacks: it is added once, outside the sum), and as equal copies over `copies` and `sums` (partial sums over `sums`
// for a factor beside the one input that has them). These are those two layouts' shapes; shard numbers: sums by (missing loops in order),
// copies by (sums, copies, missing loops in order), each with the axes that it has; -1 as input_shard.
[[nodiscard]] ParallelShape output_gradient_shape(const IterationSpace& space, const Sharding& sharding, std::size_t j,
                                                  const TensorShape& whole);
[[nodiscard]] ParallelShape input_gradient_shape(const IterationSpace& space, const Sharding& sharding, std::size_t i,
                                                 const TensorShape& whole);
[[nodiscard]] int output_gradient_shard(const IterationSpace& space, const Sharding& sharding, std::size_t j, int point);
[[nodiscard]] int input_gradient_shard(const IterationSpace& space, const Sharding& sharding, std::size_t i, int point);

// Returns the sharding that makes an operator accept inputs of these parallel shapes, or nullopt where the one that follows from
// them is not lawful there. The degrees of loops follow from the dims that they index, copies and sums from the rest. A loop that no input
// has stays whole. Outputs are not looked at: whoever adds the operator finds out whether they can be cut so.
[[nodiscard]] std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs);

}  // namespace pcg
