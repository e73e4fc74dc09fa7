#pragma once
// Runs graphs on small tensors over the prime field of order 2^31 - 1, exactly. Non-linear functions are fixed pseudo-random maps
// of their arguments (and of the position, where the operator depends on it), so two graphs agree on random inputs iff they compute
// the same thing, but for a chance below (number of comparisons) / 2^31. Serves `foreshard check` and, later, rule fingerprints.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

struct FieldTensor {
  TensorShape shape;
  std::vector<std::uint32_t> values;  // row-major, each below 2^31 - 1
  bool operator==(const FieldTensor&) const = default;
};

// Values of every source by name: pseudo-random from (seed, name, index), so a graph and its plan read the same.
[[nodiscard]] FieldTensor source_values(const std::string& name, const TensorShape& shape, std::int64_t index_limit, std::uint64_t seed);

// Results of the graph in results() order. Cost: multiply-adds of the model.
[[nodiscard]] std::vector<FieldTensor> evaluate(const Graph& graph, std::uint64_t seed);

// Results of a PCG run shard by shard, each put together again. `micro_batches` slices of the samples run one after another and are
// concatenated along dim 0; batch statistics and dropout masks are of each slice alone.
// Throws: ShapeError if copies that must be equal are not (it names the tensor), or for pipeline and batch operators.
[[nodiscard]] std::vector<FieldTensor> evaluate(const Pcg& pcg, int micro_batches, std::uint64_t seed);

struct EquivalenceResult {
  bool equivalent = false;
  std::string detail;  // "equivalent at 3 sizes: hidden 1024 -> 16, ..." or the first difference, with names, indices and both values
};

// Does the plan compute what the model computes? The model is padded as the plan says and set to the plan's micro-batch; both are
// shrunk alike (pcg/shrink.hpp) to `sizes` random small sizes and evaluated, micro-batch by micro-batch (two of them: all run alike).
// Also requires plan.pcg to have the model's weights and inputs, by name and shape. GPT-3 175B on 128 shards at 3 sizes: 2 s.
[[nodiscard]] EquivalenceResult check_equivalence(const Plan& plan, const Graph& model, int sizes, std::uint64_t seed);

}  // namespace pcg
