#pragma once
// Sizes and layout of a parallel tensor of a rule.
//
// A parallel tensor stands for one whole tensor (the sum over its summands, of any one copy, of its blocks put together) and has a layout:
// a degree for each dim, a number of summands, a number of copies.

#include <array>
#include <cstdint>

#include "search/rules/language/symbols.hpp"

namespace rules {

inline constexpr int kMostRank = 4;  // images: n, c, h, w

// A type in one assignment of numbers to the symbols.
struct Type {
  std::uint8_t rank = 0;
  bool index = false;                            // elements are indices (embedding)
  std::array<std::int64_t, kMostRank> size{};    // whole sizes; 0 beyond the rank
  std::array<std::int64_t, kMostRank> degree{};  // 1 where not cut; 0 beyond the rank
  std::int64_t summands = 1, copies = 1;
  auto operator<=>(const Type&) const = default;
};
using Types = std::array<Type, kAssignments>;
[[nodiscard]] Numbers dim_size(const Types& t, std::size_t dim);    // whole, in each assignment
[[nodiscard]] Numbers dim_degree(const Types& t, std::size_t dim);  // in each assignment

}  // namespace rules
