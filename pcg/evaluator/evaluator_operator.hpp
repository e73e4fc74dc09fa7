#pragma once
// One operator on one shard, over the field. Used by the evaluator only; the arithmetic is in field_kernels.hpp.

#include <vector>

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

// Returns one tensor per output. Requires: op is no source.
[[nodiscard]] std::vector<FieldTensor> run_shard(const Operator& op, const ShardTask& task);

}  // namespace pcg
