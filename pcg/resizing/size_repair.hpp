#pragma once
// Laws that new sizes keep for degrees and divisors to go into them, and the one free size that has to change where an operator would
// refuse its inputs.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "pcg/graph/pcg.hpp"
#include "pcg/operators/operator.hpp"
#include "pcg/resizing/rebuild.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {

// A dim of several segments must divide by its degree, its segments need not: each is what it was modulo the degree, and then their sum is,
// too.
struct SizeLaw {
  std::int64_t modulus = 1;   // the new size is congruent to the old one modulo this
  std::int64_t multiple = 1;  // and a multiple of this
};
using SizeLaws = std::map<std::int64_t, SizeLaw>;  // by old size of a segment, or a count; one that is not in it may be anything

[[nodiscard]] bool allows(const SizeLaws& laws, std::int64_t old_size, std::int64_t new_size);

// Returns what the degrees of dims and loops ask for. `serial`: the PCG's serial form. Cost: O(dims * segments).
[[nodiscard]] SizeLaws laws_of_degrees(const Pcg& pcg, const Together& serial);

// A size that must change for the graph to fit together.
struct SizeRepair {
  std::int64_t size = 0;    // of a segment, or a count, of the old graph
  std::int64_t wanted = 0;  // its new value; 0: any multiple of multiple_of
  std::int64_t multiple_of = 1;
};

using InputSegments = std::function<std::vector<std::int64_t>(std::size_t input, std::size_t dim)>;

// Returns one change of `map` towards an operator that accepts its inputs, of which several may be needed; nullopt where none is needed or
// none can be named. `changed` is the operator at the sizes of the map; `before` and `after` are the shapes of the inputs in the old and
// the new graph; in `after`, weights that follow from the operator are empty shapes. `laws`: the places of experts
// keep to them. `segments`: those of the inputs' dims (segments.hpp).
[[nodiscard]] std::optional<SizeRepair> repair_sizes(const Operator& op, const Operator& changed, std::span<const TensorShape> before,
                                                     std::span<const TensorShape> after, const SizeMap& map, const SizeLaws& laws,
                                                     const InputSegments& segments);

}  // namespace pcg
