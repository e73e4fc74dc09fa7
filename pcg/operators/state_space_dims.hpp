#pragma once
// What the input of a state space layer says of its heads. Sizes that inputs determine are not stored in the operator.

#include <cstdint>
#include <optional>

#include "pcg/operators/operator.hpp"

namespace pcg {

struct StateSpaceDims {
  std::int64_t head = 0;      // numbers of a head: p
  std::int64_t inner = 0;     // of all heads
  std::int64_t channels = 0;  // that are convolved: x, B and C
};

// `width`: of the input's last dim. Returns nullopt where no head width fits.
[[nodiscard]] std::optional<StateSpaceDims> try_state_space_dims(const StateSpace& op, std::int64_t width);
// Requires: the operator accepts the input.
[[nodiscard]] StateSpaceDims state_space_dims(const StateSpace& op, std::int64_t width);
// The width of an input whose heads have `head` numbers. Requires: groups divide heads.
[[nodiscard]] std::int64_t state_space_width(const StateSpace& op, std::int64_t head);

}  // namespace pcg
