#pragma once
// What a new size must be for degrees and divisors to go into it.

#include <cstdint>
#include <map>

#include "pcg/graph/pcg.hpp"
#include "pcg/resizing/mapped_rebuild.hpp"

namespace pcg {

// A dim of several pieces must divide by its degree, its pieces need not: each is what it was modulo the degree, and then their sum is,
// too.
struct SizeLaw {
  std::int64_t modulus = 1;   // the new size is congruent to the old one modulo this
  std::int64_t multiple = 1;  // and a multiple of this
};
using SizeLaws = std::map<std::int64_t, SizeLaw>;  // by old size of a piece, or a count; one that is not in it may be anything

[[nodiscard]] bool allows(const SizeLaws& laws, std::int64_t old_size, std::int64_t new_size);

// Returns what the degrees of dims and loops ask for. `serial`: the PCG's serial form. Cost: O(dims * pieces).
[[nodiscard]] SizeLaws laws_of_degrees(const Pcg& pcg, const Together& serial);

}  // namespace pcg
