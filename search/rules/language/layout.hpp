#pragma once
// From the layouts of an operator's inputs to that of its output, through the loops of its definition (as pcg::IterationSpace). Private to
// typing.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "search/rules/language/type.hpp"

namespace rules {

enum class Cut : std::uint8_t { free, sum, none };  // pcg::Cut; `internal` cuts are free here

inline constexpr int kWhole = -1;  // a dim that is never cut
using Dims = std::array<std::int8_t, kMostRank>;

// The loop that indexes each dim. Dims beyond a tensor's rank are not looked at.
struct Space {
  std::array<Cut, 5> cut{};
  int loops = 0;
  std::array<Dims, 3> inputs{};
  Dims output{};
  bool linear = false;          // summands pass through, of all inputs at once
  std::array<bool, 3> alone{};  // or of this one, while the others have copies for them (pcg::Passing)

  std::int8_t loop(Cut c = Cut::free) {
    cut[static_cast<std::size_t>(loops)] = c;
    return static_cast<std::int8_t>(loops++);
  }
};

using Inputs = std::span<const Type* const>;

// Returns one free loop per dim but `uncut`, for every input; the second, of an operator that summands pass through.
[[nodiscard]] Space elementwise(const Type& t, int uncut = -1);
[[nodiscard]] Space linear_elementwise(const Type& t, int uncut = -1);
// Returns the output with its layout; `out` comes with rank and sizes. Nullopt: the inputs' layouts do not go together, or cut a dim that
// may not be cut.
[[nodiscard]] std::optional<Type> lay_out(const Space& s, Inputs in, Type out);

}  // namespace rules
