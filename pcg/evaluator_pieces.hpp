#pragma once
// The pieces of a parallel tensor, and what parallel operators do to them. Used by the evaluator only.

#include <memory>
#include <vector>

#include "pcg/evaluator_operator.hpp"

namespace pcg {

using Pieces = std::vector<std::shared_ptr<const FieldTensor>>;  // by piece number; equal copies may be one object

[[nodiscard]] Place place_of(const ParallelShape& s, const PieceIndex& at);
// Blocks put together along a dim. Requires: at least one.
[[nodiscard]] FieldTensor joined(const Pieces& blocks, std::size_t dim);
// Requires: op applies to `in`, the shape of `from`. Throws: ShapeError for pipeline and batch.
[[nodiscard]] Pieces move_pieces(const ParallelOperator& op, const Pieces& from, const ParallelShape& in);
// The whole tensor: sums added, one of the copies taken, blocks joined.
[[nodiscard]] FieldTensor whole(Pieces pieces, ParallelShape shape);

}  // namespace pcg
