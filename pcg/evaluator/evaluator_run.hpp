#pragma once
// Evaluation of one micro-batch, for what compares a graph with its plan micro-batch by micro-batch, or shard by shard.

#include "pcg/evaluator/evaluator.hpp"

namespace pcg {

// Sources hold micro-batch number `micro_batch` of the data: samples micro_batch * batch and on.
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Graph& graph, int micro_batch, std::uint64_t seed);
[[nodiscard]] std::vector<FieldTensor> evaluate_micro_batch(const Pcg& pcg, int micro_batch, std::uint64_t seed);

// The results of micro-batch 0 by shard number: what a law of parallel operators says is equal.
[[nodiscard]] std::vector<std::vector<FieldTensor>> evaluate_shards(const Pcg& pcg, std::uint64_t seed);

}  // namespace pcg
