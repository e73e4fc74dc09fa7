#pragma once
// Runs graphs on small tensors over the prime field of order 2^31 - 1, exactly. Non-linear functions are fixed pseudo-random maps
// of their arguments (and of the position, where the operator depends on it). Two graphs that agree on random inputs compute the same
// thing, but for a coincidence whose probability is about the degree of their polynomials / 2^31 per comparison (Schwartz-Zippel). Graphs
// that are equal only by a property of a non-linear function are held to differ. `foreshard check` is based on it.
// Start here: check_equivalence() (equivalence.hpp) draws small sizes and compares what evaluate() gives for a plan and its model.
// evaluator_operator.hpp runs one operator on one shard, field_kernels.hpp has the arithmetic.

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

// Returns the results of the graph in the order of results(). Cost: the multiply-adds of the model.
[[nodiscard]] std::vector<FieldTensor> evaluate(const Graph& graph, std::uint64_t seed);

// Returns the results of a PCG, run shard by shard and put together again. `micro_batches` slices of the samples run one after another and
// are concatenated along dim 0; batch statistics and dropout masks are of each slice alone.
// Throws: ShapeError, naming the node, if copies that must be equal are not; for pipeline and batch operators; and for results of several
// micro-batches that have no dim to be concatenated along.
[[nodiscard]] std::vector<FieldTensor> evaluate(const Pcg& pcg, int micro_batches, std::uint64_t seed);

// Return the results of one micro-batch: inputs hold samples micro_batch * batch and on.
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Graph& graph, int micro_batch, std::uint64_t seed);
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Pcg& pcg, int micro_batch, std::uint64_t seed);

// Returns the outputs of every node of micro-batch `micro_batch`, put together. Memory: all of them.
[[nodiscard]] std::vector<std::vector<FieldTensor>> evaluate_all(const Pcg& pcg, int micro_batch, std::uint64_t seed);

// Returns the results of micro-batch 0, each by shard number: two sides of a law of parallel operators must agree in them.
[[nodiscard]] std::vector<std::vector<FieldTensor>> evaluate_shards(const Pcg& pcg, std::uint64_t seed);

}  // namespace pcg
