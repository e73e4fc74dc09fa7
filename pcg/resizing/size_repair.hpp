#pragma once
// The one free size that has to change where an operator would refuse its inputs.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"
#include "pcg/resizing/resize.hpp"
#include "pcg/resizing/size_laws.hpp"

namespace pcg {

// A size that must change for the graph to fit together.
struct SizeRepair {
  std::int64_t size = 0;    // of a piece, or a count, of the old graph
  std::int64_t wanted = 0;  // its new value; 0: any multiple of multiple_of
  std::int64_t multiple_of = 1;
};

using InputPieces = std::function<std::vector<std::int64_t>(std::size_t input, std::size_t dim)>;

// Returns one change of `map` towards an operator that accepts its inputs, of which several may be needed; nullopt where none is needed or
// none can be named. `changed` is the operator at the sizes of the map; `before` and `after` are the shapes of the inputs in the old and
// the new graph; in `after`, weights that follow from the operator are empty shapes. `laws`: the places of experts
// keep to them. `pieces`: those of the inputs' dims (pieces.hpp).
[[nodiscard]] std::optional<SizeRepair> repair_sizes(const Operator& op, const Operator& changed, std::span<const TensorShape> before,
                                                     std::span<const TensorShape> after, const SizeMap& map, const SizeLaws& laws,
                                                     const InputPieces& pieces);

}  // namespace pcg
