#include "sim/memory/weight_storage.hpp"

#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

// Matrices of products, which Transformer Engine computes in low precision (docs, features/low_precision_training); they are input 1.
bool is_cast(const pcg::Plan& plan, const pcg::PcgNode& node, std::uint32_t input) {
  const pcg::Operator* op = node.operation();
  const bool multiplies = op != nullptr && (std::holds_alternative<pcg::Linear>(*op) || std::holds_alternative<pcg::ExpertLinear>(*op));
  return multiplies && input == 1 && plan.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty && !node.name.ends_with(".router");
}

// A byte or half of one, and a byte of scale for 32 of MXFP8's numbers, or for 16 of NVFP4's, whose blocks along rows and along columns
// differ: both are kept. MXFP8 gathers bf16 and casts afterwards (Megatron-Core, param_and_grad_buffer.py), NVFP4 half bytes
// (Megatron-Bridge 26.04.01, fp4_param_gather).
WeightBytes stored(pcg::WeightStorage storage) {
  switch (storage) {
    case pcg::WeightStorage::bf16: return {2, 2};
    case pcg::WeightStorage::fp8: return {1, 1};
    case pcg::WeightStorage::fp8_transposed: return {2, 1};
    case pcg::WeightStorage::mxfp8: return {2 * (1 + 1.0 / 32), 2};
    case pcg::WeightStorage::nvfp4: return {2 * (0.5 + 1.0 / 16), 0.5};
  }
  return {};
}

}  // namespace

WeightBytes weight_bytes_of(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, std::uint32_t node, std::uint32_t input) {
  if (plan.memory.weights != pcg::WeightStorage::bf16 && is_cast(plan, plan.pcg.nodes()[node], input)) return stored(plan.memory.weights);
  const double usual = model_state_bytes(plan.training, framework).weight;
  return {usual, usual};
}

}  // namespace sim
