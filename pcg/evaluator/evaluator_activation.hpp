#pragma once
// The stand-in for an activation. Used by the evaluator only.

#include <cstdint>

#include "pcg/evaluator/field.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

// Returns the stand-in at x, whether an operator of its own or a Linear applies it.
[[nodiscard]] inline std::uint32_t activate(Activation a, std::uint32_t x) {
  constexpr std::uint64_t kActivation = 1;  // keeps activations apart from the stand-ins of other functions (evaluator_operator.cpp)
  return a == Activation::none ? x : field::Hash(kActivation)(static_cast<std::uint64_t>(a))(x).element();
}

}  // namespace pcg
