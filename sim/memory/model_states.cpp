#include "sim/memory/model_states.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "pcg/plan/low_precision.hpp"
#include "profiles/device_profile.hpp"

namespace sim {
namespace {

// Numbers that an optimizer keeps for each parameter.
int optimizer_moments(pcg::Optimizer o) {
  if (o == pcg::Optimizer::adam) return 2;
  return o == pcg::Optimizer::sgd ? 0 : 1;
}

// Adds what passes while Adam updates on the device: no states, so its traffic is not the update's (optimizer_kernel.hpp).
void add_temporaries(ModelStateBytes& each, const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by) {
  if (by != pcg::Optimizer::adam || plan.memory.offload.optimizer) return;
  each.update += framework.memory.adam_temporaries.value();
  each.optimizer += framework.memory.adam_temporaries.value();
}

// Shards of PyTorch's FSDP are weights of 4 bytes, in place of one of 2 and a master copy, and gradients of 4.
bool has_fp32_shards(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, int zero) {
  return framework.memory.fp32_shards && zero >= 3 && pcg::is_half(plan.training.precision) && !plan.memory.offload.optimizer;
}

bool is_matrix(const pcg::Plan& plan, const pcg::PcgNode& n, std::uint32_t input) {
  if (input != 1 || !n.computes() || !plan.pcg.blocks()[static_cast<std::size_t>(n.block)].weighty) return false;
  return std::holds_alternative<pcg::Linear>(*n.operation()) || std::holds_alternative<pcg::ExpertLinear>(*n.operation());
}

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

StateBytes states_of(int zero, const pcg::ZeroPolicy& policy, const ModelStateBytes& each, double parameters, double share) {
  const double gradient = pcg::shards_gradients(zero, policy) ? each.gradient * share : each.gradient + each.half_gradient;
  return {base::Bytes(parameters * each.weight * (zero >= 3 ? share : 1)),
          base::Bytes(parameters * gradient),
          base::Bytes(parameters * each.between_updates() * (zero >= 1 ? share : 1)),
          base::Bytes(parameters * each.update * (zero >= 1 ? share : 1)),
          {}};
}

ModelStateBytes model_state_bytes(const pcg::TrainingConfig& t, const profiles::FrameworkProfile& framework) {
  const bool half = pcg::is_half(t.precision);
  ModelStateBytes b;
  b.weight = half ? 2 : 4;
  b.gradient = half && !t.fp32_gradients ? 2 : 4;
  if (t.precision == pcg::Precision::bf16 && t.fp32_gradients && framework.memory.half_gradients) b.half_gradient = 2;
  b.optimizer = half ? 4 : 0;  // master copy
  if (half && b.gradient < 4 && framework.fp32_gradient_copy) b.optimizer += b.update = 4;
  b.optimizer += static_cast<double>(optimizer_moments(t.optimizer)) * 4;
  return b;
}

ModelStateBytes model_state_bytes(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by) {
  pcg::TrainingConfig training = plan.training;
  training.optimizer = by;
  ModelStateBytes b = model_state_bytes(training, framework);
  if (plan.memory.offload.optimizer) b.optimizer = b.update = 0;
  else if (plan.memory.bf16_moments) b.optimizer -= static_cast<double>(optimizer_moments(by)) * 2;
  return b;
}

ModelStateBytes model_state_bytes(const pcg::Plan& plan, const profiles::FrameworkProfile& framework) {
  return model_state_bytes(plan, framework, plan.training.optimizer);
}

pcg::Optimizer optimizer_of(const pcg::Plan& plan, std::uint32_t node, std::uint32_t input) {
  const bool apart = plan.training.optimizer == pcg::Optimizer::muon && !is_matrix(plan, plan.pcg.nodes()[node], input);
  return apart ? pcg::Optimizer::adam : plan.training.optimizer;
}

std::vector<StateBytes> model_states(const pcg::Plan& plan, const Dataflow& data, const profiles::FrameworkProfile& framework, int zero,
                                     bool copies_columns) {
  // 2BW keeps the weights of the update before, which micro-batches under way began with.
  const double versions = plan.schedule == pcg::ScheduleKind::two_bw ? 2 : 1;
  std::vector<StateBytes> devices;
  // A tied weight is held once by a stage, however many of its operators read it.
  const auto add = [&](std::uint32_t n, std::uint32_t i, const pcg::PcgNode& weight) {
    const Layout& l = data.flow.layouts[n].inputs[i];
    const double share = 1.0 / static_cast<double>(data.synchronisation.shared_by(n, i));
    const WeightBytes bytes = weight_bytes_of(plan, framework, n, i, copies_columns);
    const pcg::Optimizer by = optimizer_of(plan, n, i);
    ModelStateBytes each = model_state_bytes(plan, framework, by);
    each.weight = bytes.kept;
    const int stage = pcg::zero_of_block(zero, plan.memory.zero, weight.block);
    const bool trained = weight.is_trained(), fp32 = trained && has_fp32_shards(plan, framework, stage);
    if (fp32) each.weight = each.gradient = 4, each.optimizer -= 4;
    add_temporaries(each, plan, framework, by);
    const double elements = l.shard_elements();
    StateBytes states = states_of(stage, plan.memory.zero, each, elements, share);
    if (!trained) states = {.weights = states.weights};
    // Micro-batches after the first find gradients there.
    const bool once = plan.stages == 1 && plan.micro_batches == 1;
    if (fp32 && once && pcg::shards_gradients(stage, plan.memory.zero)) states.lazy_gradients = states.gradients;
    if (stage < 3) states.copies = base::Bytes(elements * bytes.copied);
    for (const base::DeviceId d : l.devices) {
      if (d.value >= devices.size()) devices.resize(d.value + 1);
      devices[d.value].weights += states.weights * versions;
      devices[d.value].gradients += states.gradients;
      devices[d.value].optimizer += states.optimizer;
      devices[d.value].update += states.update;
      devices[d.value].lazy_gradients += states.lazy_gradients;
      devices[d.value].copies += states.copies;
    }
  };
  for (const std::vector<std::uint32_t>& nodes : data.flow.stage_nodes) each_weight(plan, data.flow, nodes, add);
  return devices;
}

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
