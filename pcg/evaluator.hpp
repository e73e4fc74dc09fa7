#pragma once
// Runs graphs on small tensors over the prime field of order 2^31 - 1, exactly. Non-linear functions are fixed pseudo-random maps
// of their arguments (and of the position, where the operator depends on it), so two graphs agree on random inputs iff they compute
// the same thing, but for a chance below (number of comparisons) / 2^31. Serves `foreshard check` and, later, rule fingerprints.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/graph.hpp"
#include "pcg/pcg.hpp"
#include "pcg/plan.hpp"

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

// Results of a PCG run piece by piece, each put together again. `micro_batches` slices of the samples run one after another and are
// concatenated. Throws: ShapeError if copies that must be equal are not (it names the tensor).
[[nodiscard]] std::vector<FieldTensor> evaluate(const Pcg& pcg, int micro_batches, std::uint64_t seed);

struct EquivalenceResult {
  bool equivalent = false;
  std::string detail;  // "equivalent at 3 sizes: hidden 1024 -> 16, ..." or the first difference, with names, indices and both values
};

// Does the plan compute what the model computes? Both are shrunk alike (pcg/shrink.hpp) to `sizes` random small sizes and evaluated.
// Also requires plan.pcg to have the model's weights and inputs, by name and shape.
[[nodiscard]] EquivalenceResult check_equivalence(const Plan& plan, const Graph& model, int sizes, std::uint64_t seed);

}  // namespace pcg
