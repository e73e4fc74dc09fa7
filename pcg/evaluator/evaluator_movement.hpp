#pragma once
// Operators that only move values, on one shard: concat, split, slice, transpose, broadcast. Used by the evaluator only.

#include <vector>

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

[[nodiscard]] FieldTensor run_concat(const Concat& op, const ShardTask& task);
[[nodiscard]] std::vector<FieldTensor> run_split(const Split& op, const ShardTask& task);
[[nodiscard]] FieldTensor run_slice(const Slice& op, const ShardTask& task);
[[nodiscard]] FieldTensor run_transpose(const Transpose& op, const ShardTask& task);
[[nodiscard]] FieldTensor run_broadcast(const Broadcast& op, const ShardTask& task);

}  // namespace pcg
