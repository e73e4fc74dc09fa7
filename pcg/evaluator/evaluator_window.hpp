#pragma once
// Convolution and pooling of one shard. Used by the evaluator only.

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

[[nodiscard]] FieldTensor run_conv2d(const Conv2d& op, const ShardTask& task);
[[nodiscard]] FieldTensor run_pool2d(const Pool2d& op, const ShardTask& task);

}  // namespace pcg
