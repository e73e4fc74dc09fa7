#include "sim/pricing/orthogonalisation.hpp"

#include <algorithm>

#include "pcg/work/work_parts.hpp"
#include "sim/dataflow/gated_unit.hpp"

namespace sim {
namespace {

constexpr int kSteps = 5;  // muon_num_ns_steps
constexpr double kNumber = 4;

// Whether a node is the first projection of a gated unit, of whose product the second one is a part.
bool has_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t gate) {
  const pcg::TensorRef read = flow.origins[gate][0];
  return std::ranges::any_of(flow.uses[read.node.value][static_cast<std::size_t>(read.output)], [&](const Use& use) {
    if (use.consumer == gate || !is_second_projection(plan, flow, use.consumer)) return false;
    const std::uint32_t product = flow.uses[use.consumer][0].front().consumer;
    const pcg::TensorRef activated = flow.origins[product][*activated_input(plan, flow, product)];
    return flow.origins[activated.node.value][0].node.value == gate;
  });
}

}  // namespace

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
  for (int step = 0; step < kSteps; ++step) {
    // A = X X^T; B = b A + c A A; X = a X + B X.
    kernels.push_back(pcg::work::matmul("muon.square", count, m, m, n, base::Bytes(kNumber * (whole + square))));
    kernels.push_back(pcg::work::matmul("muon.polynomial", count, m, m, m, base::Bytes(kNumber * 2 * square)));
    kernels.push_back(pcg::work::matmul("muon.step", count, m, n, m, base::Bytes(kNumber * (square + 2 * whole))));
  }
  return kernels;
}

}  // namespace sim
