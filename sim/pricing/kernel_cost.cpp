#include "sim/pricing/kernel_cost.hpp"
#include "profiles/kernel_time.hpp"

#include <algorithm>

namespace sim {

std::string generation_of(const profiles::DeviceProfile& device) { return device.name.substr(0, device.name.find('-')); }

namespace {

// Linear layers alone run in low precision: attention stays in bf16 (NVIDIA Transformer Engine unless fp8_dpa is set; DeepSeek-V3, arXiv
// 2412.19437, section 3.3.1).
pcg::Precision precision_of(const pcg::Kernel& kernel, pcg::Precision training) {
  return pcg::casts_products(training) && kernel.kind != pcg::KernelKind::matmul ? pcg::Precision::bf16 : training;
}

std::optional<double> sustained_in(const profiles::FrameworkProfile& framework, const profiles::DeviceProfile& device,
                                   pcg::Precision precision) {
  const auto own = framework.sustained.find(generation_of(device));
  return own != framework.sustained.end() ? std::optional(own->second) : profiles::sustained_share(device, precision);
}

}  // namespace

KernelCost kernel_cost(const profiles::DeviceProfile& device, const profiles::FrameworkProfile& framework, const pcg::Kernel& kernel,
                       pcg::Precision training) {
  const pcg::Precision precision = precision_of(kernel, training);
  const profiles::KernelTime alone = profiles::kernel_time(device, kernel, precision);
  KernelCost cost{alone.time, alone.basis, false};
  const double peak = device.peak.at(precision).value();
  const std::string generation = generation_of(device);
  const auto attention = framework.attention.find(generation);
  if (kernel.kind == pcg::KernelKind::attention && attention != framework.attention.end()) {
    cost.time = std::max(cost.time, base::Seconds(kernel.flops.value() / (peak * attention->second)));
    return cost;
  }
  // Kernels that wait for memory keep their time: a lower clock and cold operands slow the multipliers. So do those on vector units, which
  // draw less: by fp32 iterations of the NeuSight tables (V100, A100, H100; docs/accuracy.md).
  const bool bound_by_flops = kernel.flops.value() / peak > kernel.bytes.value() / device.memory_bandwidth.value();
  if (!profiles::runs_on_tensor_cores(device, kernel, precision) || !bound_by_flops) return cost;
  if (const auto share = sustained_in(framework, device, precision)) cost.time = cost.time / *share;
  else cost.unsustained = true;
  return cost;
}

}  // namespace sim
