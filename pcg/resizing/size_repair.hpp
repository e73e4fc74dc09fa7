#pragma once
// The one free size that has to change where an operator would refuse its inputs.

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "pcg/operators/operator.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {

// A size that must change for the graph to fit together.
struct SizeRepair {
  std::int64_t size = 0;    // a free size of the old graph
  std::int64_t wanted = 0;  // its new value; 0: any multiple of multiple_of
  std::int64_t multiple_of = 1;
};

// Returns one change of `map` towards an operator that accepts its inputs, of which several may be needed; nullopt where none is needed or
// none can be named. `before` and `after` are the shapes of the inputs in the old and the new graph; in `after`, weights that follow from
// the operator are empty shapes. `multiples`: by old size, what the new one must be a multiple of; 1 where it is absent.
[[nodiscard]] std::optional<SizeRepair> repair_sizes(const Operator& op, std::span<const TensorShape> before,
                                                     std::span<const TensorShape> after, const SizeMap& map,
                                                     const std::map<std::int64_t, std::int64_t>& multiples);

}  // namespace pcg
