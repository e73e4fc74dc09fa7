#pragma once
// The shards of a parallel tensor, and parallel operators on them. Used by the evaluator only.

#include <memory>
#include <vector>

#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

using Shards = std::vector<std::shared_ptr<const FieldTensor>>;  // by shard number; equal copies may be one object

[[nodiscard]] Place place_of(const ParallelShape& s, const ShardIndex& at);
// Returns blocks put together along a dim. Requires: at least one.
[[nodiscard]] FieldTensor joined(const Shards& blocks, std::size_t dim);
// Returns the shards behind a parallel operator. Requires: op applies to `in`, the shape of `from`. Throws: ShapeError for pipeline and
// batch.
[[nodiscard]] Shards move_shards(const ParallelOperator& op, const Shards& from, const ParallelShape& in);
// Returns the whole tensor: sums added, one of the copies taken, blocks joined.
[[nodiscard]] FieldTensor whole(Shards shards, ParallelShape shape);

}  // namespace pcg
