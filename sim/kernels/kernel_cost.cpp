#include "sim/kernels/kernel_cost.hpp"

#include <algorithm>

#include "profiles/models/product_model.hpp"

namespace sim {

profiles::DeviceProfile running_profile(const std::string& type, const topology::DeviceSpeed& speed) {
  profiles::DeviceProfile d = profiles::scaled(profiles::device_profile(type), speed.compute, speed.memory);
  return speed.power_limit.value() > 0 ? profiles::limited(std::move(d), speed.power_limit) : d;
}

namespace {

// Linear layers alone run in low precision: attention stays in bf16 (NVIDIA Transformer Engine unless fp8_dpa is set, which is
// TrainingConfig::fp8_attention; DeepSeek-V3, arXiv 2412.19437, section 3.3.1).
pcg::Precision precision_of(const pcg::Kernel& kernel, pcg::Precision training) {
  return pcg::casts_products(training) && kernel.kind != pcg::KernelKind::matmul && !kernel.low_attention ? pcg::Precision::bf16 : training;
}

// A framework's own share is that of its rows, the slowest of their GPUs included. Operands whose rows are all alike flip few bits, so that
// the chip stays below what makes its clock give way, and GPUs of a type do not differ
// (docs/decisions/0021-power-is-a-share-of-the-device.md).
struct Sustained {
  double share = 1;
  std::optional<double> assumed;  // KernelCost::assumed_share
};
Sustained sustained_in(const profiles::FrameworkProfile& framework, const profiles::DeviceProfile& device, pcg::Precision precision,
                       const Running& running) {
  if (running.constant_tokens) return {};
  const auto own = framework.sustained.find(profiles::generation_of(device.name));
  if (own != framework.sustained.end()) return {own->second, std::nullopt};
  const auto share = profiles::sustained_share(device, precision);
  if (!share) return {1, 1};
  return {*share * profiles::slowest_of(device, precision, running.gpus), device.sustained_assumed ? share : std::nullopt};
}

std::optional<double> attention_in(const profiles::FrameworkProfile& framework, const std::string& generation, pcg::KernelKind pass) {
  if (pass == pcg::KernelKind::attention_gradient)
    if (const auto own = framework.attention_gradient.find(generation); own != framework.attention_gradient.end()) return own->second;
  const auto both = framework.attention.find(generation);
  return both != framework.attention.end() ? std::optional(both->second) : std::nullopt;
}

// FlashAttention-2 on Hopper, csrc/flash_attn/src/flash_fwd_launch_template.h and flash_bwd_launch_template.h: blocks of 128 queries
// forward and 128 keys backward, one after another on each multiprocessor. On average the last ends half a block after work ran out.
base::Seconds own_attention_time(const profiles::DeviceProfile& device, const profiles::FrameworkProfile& framework, const pcg::Kernel& k,
                                 pcg::Precision precision, double share) {
  constexpr double kBlock = 128;
  const double peak = device.peak.at(precision).value();
  const double keys = k.kind == pcg::KernelKind::attention ? framework.attention_block_keys : framework.attention_gradient_block_keys;
  if (keys == 0) return base::Seconds(k.flops.value() / (peak * share * device.clock));
  const profiles::AttentionModel model{share, keys, 0, 0, kBlock / 2 * device.multiprocessors};
  return base::Seconds(profiles::attention_seconds(model, peak * device.clock, k));
}

// One of products that are launched serially.
pcg::Kernel one_of(pcg::Kernel k) {
  const auto count = static_cast<double>(k.serial_launches);
  k.batch /= k.serial_launches;
  k.flops = k.flops / count;
  k.bytes = k.bytes / count;
  return k;
}

// Without what a product adds to a buffer.
KernelCost cost_alone(const profiles::DeviceProfile& device, const profiles::FrameworkProfile& framework, const pcg::Kernel& kernel,
                      const Running& running) {
  const pcg::Precision precision = precision_of(kernel, running.precision);
  const auto own_share =
      pcg::is_attention(kernel.kind) ? attention_in(framework, profiles::generation_of(device.name), kernel.kind) : std::nullopt;
  const Sustained sustained = !own_share && profiles::runs_on_tensor_cores(device, kernel, precision)
                                  ? sustained_in(framework, device, precision, running)
                                  : Sustained{};
  const profiles::KernelTime alone = profiles::kernel_time(device, kernel, precision, device.clock * sustained.share);
  KernelCost cost{alone.time, alone.basis, std::nullopt};
  if (kernel.split_accumulation && precision == pcg::Precision::fp8) cost.time = cost.time * device.split_accumulation;
  const double peak = device.peak.at(precision).value();
  if (own_share) cost.time = std::max(cost.time, own_attention_time(device, framework, kernel, precision, *own_share));
  if (kernel.flops.value() / peak > kernel.bytes.value() / device.memory_bandwidth.value()) cost.assumed_share = sustained.assumed;
  return cost;
}

}  // namespace

KernelCost kernel_cost(const profiles::DeviceProfile& device, const profiles::FrameworkProfile& framework, const pcg::Kernel& kernel,
                       const Running& running) {
  KernelCost cost = cost_alone(device, framework, one_of(kernel), running);
  cost.time = cost.time * static_cast<double>(kernel.serial_launches);
  cost.time += kernel.added / device.memory_bandwidth;
  return cost;
}

}  // namespace sim
