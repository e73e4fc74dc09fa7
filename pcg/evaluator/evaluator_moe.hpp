#pragma once
// Routing of tokens to experts over the field, of one shard. Used by the evaluator only.

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

[[nodiscard]] FieldTensor run_moe_dispatch(const ShardTask& task);
[[nodiscard]] FieldTensor run_moe_combine(const ShardTask& task);

}  // namespace pcg
