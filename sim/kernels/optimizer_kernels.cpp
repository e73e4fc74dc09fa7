#include "sim/kernels/optimizer_kernels.hpp"

#include <algorithm>

#include "pcg/work/work_parts.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

// Additions, multiplications, divisions and roots of one parameter's update. Adam (Kingma and Ba, arXiv 1412.6980, algorithm 1): 3 for the
// first moment, 4 for the second, 5 for the step; momentum: 2 for the moment, 2 for the step; plain descent: 2 for the step. Muon beside
// its products: as momentum, 2 for Nesterov's, 3 for norm and scale, 1 for the decay.
double flops_per_parameter(pcg::Optimizer o) {
  switch (o) {
    case pcg::Optimizer::adam: return 12;
    case pcg::Optimizer::momentum: return 4;
    case pcg::Optimizer::sgd: return 2;
    case pcg::Optimizer::muon: return 10;
  }
  return 0;
}

// Muon is not fused. Each pass reads or writes numbers of 4 bytes: decay of the weight (2), momentum (3), Nesterov's (3), the norm (1), the
// scaling by it (2) and by the shape (2), the step (3); half-precision gradients are copied before, and master weights after.
double bytes_of_muon(const ModelStateBytes& b) {
  return 4 * 16 + (b.gradient < 4 ? b.gradient + 4 : 0) + (b.weight < 4 ? 4 + b.weight : 0);
}

constexpr int kOrthogonalisationSteps = 5;  // muon_num_ns_steps
constexpr double kBytesOfNumber = 4;

}  // namespace

double optimizer_bytes_per_parameter(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by) {
  const ModelStateBytes b = model_state_bytes(plan, framework, by);
  if (by == pcg::Optimizer::muon) return bytes_of_muon(b);
  // In half precision the fp32 master copy among the states is read instead of the weight.
  const bool half = b.weight < 4;
  const bool fp32_states = !plan.memory.offload.optimizer && !plan.memory.bf16_moments;
  if (by == pcg::Optimizer::adam && fp32_states && framework.adam_bytes.value() > 0)
    return framework.adam_bytes.value() + (half ? b.weight : 0);
  return b.gradient + 2 * b.optimizer + (half ? b.weight : 2 * b.weight);
}

pcg::Kernel optimizer_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by, double parameters) {
  return {.kind = pcg::KernelKind::optimizer,
          .name = "optimizer",
          .flops = base::Flops(parameters * flops_per_parameter(by)),
          .bytes = base::Bytes(parameters * optimizer_bytes_per_parameter(plan, framework, by))};
}

// A product and a sum of each gradient, which is read once. The update, which reads it anyway, applies the factor that clips.
pcg::Kernel gradient_norm_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, double parameters) {
  return {.kind = pcg::KernelKind::reduction,
          .name = "gradient norm",
          .flops = base::Flops(parameters * 2),
          .bytes = base::Bytes(parameters * model_state_bytes(plan, framework).gradient)};
}

std::optional<Matrices> matrices_of(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                    std::uint32_t node, std::uint32_t input) {
  const std::vector<std::int64_t> sizes = flow.layouts[node].inputs[input].shape.shard().sizes;
  Matrices m{sizes[sizes.size() - 2], sizes[sizes.size() - 1], sizes.size() > 2 ? sizes[0] : 1};
  if (!framework.joint_gated_projections) return m;
  if (is_second_projection(plan, flow, node)) return std::nullopt;
  if (has_second_projection(plan, flow, node)) m.columns *= 2;
  return m;
}

std::vector<pcg::Kernel> orthogonalisation_kernels(const Matrices& matrices) {
  const std::int64_t m = std::min(matrices.rows, matrices.columns), n = std::max(matrices.rows, matrices.columns), count = matrices.count;
  const double square = static_cast<double>(m * m * count), whole = static_cast<double>(m * n * count);
  std::vector<pcg::Kernel> kernels;
  for (int step = 0; step < kOrthogonalisationSteps; ++step) {
    // A = X X^T; B = b A + c A A; X = a X + B X.
    kernels.push_back(pcg::work::matmul("muon.square", count, m, m, n, base::Bytes(kBytesOfNumber * (whole + square))));
    kernels.push_back(pcg::work::matmul("muon.polynomial", count, m, m, m, base::Bytes(kBytesOfNumber * 2 * square)));
    kernels.push_back(pcg::work::matmul("muon.step", count, m, n, m, base::Bytes(kBytesOfNumber * (square + 2 * whole))));
  }
  return kernels;
}

}  // namespace sim
