#pragma once
// A state space layer of one shard. Used by the evaluator only.

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

[[nodiscard]] FieldTensor run_state_space(const StateSpace& op, const ShardTask& task);

}  // namespace pcg
