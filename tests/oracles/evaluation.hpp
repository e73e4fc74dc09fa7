#pragma once
// The results of whole graphs: those of the first micro-batch, or of several, one after another.

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "pcg/evaluator/evaluator.hpp"

namespace pcg {

[[nodiscard]] inline std::vector<FieldTensor> evaluate(const Graph& graph, std::uint64_t seed) {
  return evaluate_micro_batch(graph, 0, seed);
}

// Results of several micro-batches are concatenated along dim 0.
// Throws: ShapeError for results without one.
[[nodiscard]] inline std::vector<FieldTensor> evaluate(const Pcg& pcg, int micro_batches, std::uint64_t seed) {
  BASE_CHECK(micro_batches >= 1, "{} micro-batches", micro_batches);
  std::vector<FieldTensor> results = evaluate_micro_batch(pcg, 0, seed);
  for (int m = 1; m < micro_batches; ++m) {
    const std::vector<FieldTensor> more = evaluate_micro_batch(pcg, m, seed);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].shape.sizes.empty()) throw ShapeError("a result without dims cannot be concatenated over micro-batches");
      results[i].shape.sizes[0] += more[i].shape.sizes[0];
      results[i].values.insert(results[i].values.end(), more[i].values.begin(), more[i].values.end());
    }
  }
  return results;
}

}  // namespace pcg
