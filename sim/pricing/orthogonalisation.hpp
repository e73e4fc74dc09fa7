#pragma once
// What Muon does to a matrix: the momentum of its gradients is brought near an orthogonal matrix by five steps of Newton and Schulz
// (Megatron-LM, megatron/core/optimizer/muon.py; NVIDIA-NeMo/Emerging-Optimizers, orthogonalized_optimizers/muon_utils.py).

#include <optional>
#include <vector>

#include "pcg/work/kernel.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Matrices of one size that a device holds: its own part where tensor parallelism cuts a weight, one for each of its experts.
struct Matrices {
  std::int64_t rows = 0, columns = 0, count = 1;
  auto operator<=>(const Matrices&) const = default;
};

// The matrices behind input `input` of a node, a weight that Muon updates (optimizer_of()). Where both projections of a gated unit are one
// product, they are one matrix, which the gate's has; nullopt: that of the second projection.
[[nodiscard]] std::optional<Matrices> matrices_of(const pcg::Plan& plan, const FlowGraph& flow, const profiles::FrameworkProfile& framework,
                                                  std::uint32_t node, std::uint32_t input);

// The products of all steps, in fp32: of m x n numbers, m <= n, each step has 4 m m n + 2 m m m FLOPs.
[[nodiscard]] std::vector<pcg::Kernel> orthogonalisation_kernels(const Matrices& matrices);

}  // namespace sim
