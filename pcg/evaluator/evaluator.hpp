#pragma once
// Runs graphs on small tensors over the prime field of order 2^31 - 1, exactly. Non-linear functions are fixed pseudo-random maps
// of their arguments (and of the position, where the operator depends on it). Two graphs that agree on random inputs compute the same
// thing, but for a coincidence whose probability is about the degree of their polynomials / 2^31 per comparison (Schwartz-Zippel). Graphs
// that are equal only by a property of a non-linear function are held to differ. `foreshard check` is based on it.
// Start here: check_equivalence() (equivalence.hpp) draws small sizes and compares what evaluate_micro_batch() gives for a plan and its
// model. evaluator_operator.hpp runs one operator on one shard, field_kernels.hpp has the arithmetic.

#include <cstdint>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

struct FieldTensor {
  TensorShape shape;
  std::vector<std::uint32_t> values;  // row-major, each below 2^31 - 1
  bool operator==(const FieldTensor&) const = default;
};

// Return the results of one micro-batch in the order of results(): inputs hold samples micro_batch * batch and on, batch statistics and
// dropout masks are its own. A PCG is run shard by shard and put together again.
// Throw: ShapeError, naming the node, if copies that must be equal are not; for pipeline and batch operators.
// Cost: the multiply-adds of the model.
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Graph& graph, int micro_batch, std::uint64_t seed);
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Pcg& pcg, int micro_batch, std::uint64_t seed);

// Returns the outputs of every node of micro-batch `micro_batch`, put together. Memory: all of them.
[[nodiscard]] std::vector<std::vector<FieldTensor>> evaluate_all(const Pcg& pcg, int micro_batch, std::uint64_t seed);

// Returns the results of micro-batch 0, each by shard number: two sides of a law of parallel operators must agree in them.
[[nodiscard]] std::vector<std::vector<FieldTensor>> evaluate_shards(const Pcg& pcg, std::uint64_t seed);

}  // namespace pcg
