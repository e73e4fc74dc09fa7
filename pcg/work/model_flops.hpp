#pragma once
// The FLOPs that a model asks for, apart from how it is computed.

#include <span>

#include "base/units.hpp"
#include "pcg/operators/operator.hpp"

namespace pcg {

// Multiply-adds that the model asks for, forward, 2 FLOPs each, whoever computes them: matmuls, convolutions and whole attention
// squares (causal or not, flash or not; as wide as the window where there is one), nothing elementwise. It is what published model-FLOPs
// utilisation counts (Narayanan et al., arXiv 2104.04473, appendix; Chowdhery et al., arXiv 2204.02311, appendix B).
[[nodiscard]] base::Flops model_flops(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);

// The part of model_flops that a causal mask throws away: half of a causal attention's square,
// of a window the corner that no query reaches, 0 of everything else. Some publish their
// utilisation without it (Dao, arXiv 2307.08691, section 4.1, divides the FLOPs of causal attention by 2).
[[nodiscard]] base::Flops masked_flops(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);

}  // namespace pcg
