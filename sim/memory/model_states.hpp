#pragma once
// Bytes that a parameter occupies: weight, gradient, optimizer state. Mixed-precision Adam is 2 + 2 + 12 (Rajbhandari et al., ZeRO,
// SC'20, section 3.1: fp32 master weight, momentum and variance); fp32 Adam 4 + 4 + 8.

#include "pcg/plan/plan.hpp"

namespace sim {

struct ModelStateBytes {
  double weight = 4, gradient = 4, optimizer = 0;  // bytes per parameter, unsharded
};

[[nodiscard]] inline ModelStateBytes model_state_bytes(const pcg::TrainingConfig& t) {
  const bool half = t.precision == pcg::Precision::fp16 || t.precision == pcg::Precision::bf16 || t.precision == pcg::Precision::fp8;
  ModelStateBytes b;
  b.weight = half ? 2 : 4;
  b.gradient = half && !t.fp32_gradients ? 2 : 4;
  b.optimizer = half ? 4 : 0;  // master copy
  if (t.optimizer == pcg::Optimizer::momentum) b.optimizer += 4;
  if (t.optimizer == pcg::Optimizer::adam) b.optimizer += 8;
  return b;
}

}  // namespace sim
