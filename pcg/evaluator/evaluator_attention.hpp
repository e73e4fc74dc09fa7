#pragma once
// Attention of one shard. Used by the evaluator only.

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

[[nodiscard]] FieldTensor run_attention(const Attention& op, const ShardTask& task);

}  // namespace pcg
