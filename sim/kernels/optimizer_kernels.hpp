#pragma once
// The kernels that update parameters, as their traffic and their FLOPs.
// Muon brings the momentum of the gradients of a matrix near an orthogonal matrix by five steps of Newton and Schulz (Megatron-LM,
// megatron/core/optimizer/muon.py; NVIDIA-NeMo/Emerging-Optimizers, orthogonalized_optimizers/muon_utils.py).

#include <optional>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Bytes of device memory that the update of one parameter reads and writes: weight, gradient and optimizer states.
// docs/architecture.md, "What the optimizer moves", derives it.
[[nodiscard]] double optimizer_bytes_per_parameter(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by);

// The update of `parameters` parameters of one device by this optimizer, but for Muon's products.
[[nodiscard]] pcg::Kernel optimizer_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by,
                                           double parameters);

// The sum of squares of the gradients of `parameters` parameters of one device, which clipping needs.
[[nodiscard]] pcg::Kernel gradient_norm_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, double parameters);

// Matrices of one size that a device holds: its own part where tensor parallelism cuts a weight, one for each of its experts.
struct Matrices {
  std::int64_t rows = 0, columns = 0, count = 1;
  auto operator<=>(const Matrices&) const = default;
};

// The matrices of input `input` of a node, a weight that Muon updates (optimizer_of()). Where both projections of a gated unit are one
// product, they are one matrix, which the gate's has; nullopt: that of the second projection.
[[nodiscard]] std::optional<Matrices> matrices_of(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                                  std::uint32_t node, std::uint32_t input);

// The products of all steps, in fp32: of m x n numbers, m <= n, each step has 4 m m n + 2 m m m FLOPs.
[[nodiscard]] std::vector<pcg::Kernel> orthogonalisation_kernels(const Matrices& matrices);

}  // namespace sim
