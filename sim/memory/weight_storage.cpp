#include "sim/memory/weight_storage.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "pcg/plan/low_precision.hpp"
#include "profiles/device_profile.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

// A byte or half of one, and a byte of scale for 32 of MXFP8's numbers, or for 16 of NVFP4's, whose blocks along rows and along columns
// differ: both are kept. MXFP8 gathers bf16 and casts afterwards (Megatron-Core, param_and_grad_buffer.py), NVFP4 half bytes
// (Megatron-Bridge 26.04.01, fp4_param_gather).
WeightBytes stored(pcg::WeightStorage storage) {
  switch (storage) {
    case pcg::WeightStorage::bf16: return {2, 2, 0};
    case pcg::WeightStorage::fp8: return {1, 1, 0};
    case pcg::WeightStorage::fp8_transposed: return {2, 1, 0};
    case pcg::WeightStorage::mxfp8: return {2 * (1 + 1.0 / 32), 2, 0};
    case pcg::WeightStorage::nvfp4: return {2 * (0.5 + 1.0 / 16), 0.5, 0};
  }
  return {};
}

}  // namespace

bool copies_columns(const pcg::Plan& plan, const topology::Cluster& cluster) {
  if (!pcg::casts_products(plan.training.precision)) return false;
  std::set<std::string_view> types;
  for (const topology::Device& d : cluster.devices().first(static_cast<std::size_t>(plan.gpus))) types.insert(d.type);
  return std::ranges::any_of(types, [](std::string_view t) { return profiles::device_profile(std::string(t)).transposes_fp8; });
}

WeightBytes weight_bytes_of(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, std::uint32_t node, std::uint32_t input,
                            bool copies_columns) {
  const double usual = model_state_bytes(plan.training, framework).weight;
  // Matrices of products are input 1.
  if (input != 1 || !pcg::multiplies_low(plan, plan.pcg.nodes()[node])) return {usual, usual, 0};
  if (plan.memory.weights != pcg::WeightStorage::bf16) return stored(plan.memory.weights);
  return {usual, usual, pcg::weight_format(plan.training, copies_columns).kept()};
}

}  // namespace sim
