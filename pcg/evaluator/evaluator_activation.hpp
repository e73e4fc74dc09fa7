#pragma once
// The stand-in for an activation. Used by the evaluator only.

#include <cstdint>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns the stand-in at x, whether an operator of its own or a Linear applies it.
[[nodiscard]] std::uint32_t activate(Activation a, std::uint32_t x);

}  // namespace pcg
