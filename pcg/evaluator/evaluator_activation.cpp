#include "pcg/evaluator/evaluator_activation.hpp"

#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

// Keeps activations apart from the stand-ins of other functions (evaluator_operator.cpp).
enum ActivationTag : std::uint64_t { kActivation = 1 };

}  // namespace

std::uint32_t activate(Activation a, std::uint32_t x) {
  return a == Activation::none ? x : field::Hash(kActivation)(static_cast<std::uint64_t>(a))(x).element();
}

}  // namespace pcg
