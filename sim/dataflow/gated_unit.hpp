#pragma once
// Gated linear units (Shazeer, arXiv 2002.05202): an activated gate times a second projection of the same tensor. Frameworks run their
// parts together: one kernel for activation and product, one product for gate and second projection.

#include <cstdint>
#include <optional>

#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Returns the input of a multiplication that is an activation (GELU or SiLU) which nothing else reads and which does not move in between: a
// kernel that multiplies can compute it again. nullopt: there is none. Cost: O(1).
[[nodiscard]] std::optional<std::size_t> activated_input(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Whether a node is such an activation.
[[nodiscard]] bool is_activated_gate(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

// Whether a node is the second projection of a gated unit: a linear layer or experts' that reads the same tensor as the gate's.
[[nodiscard]] bool is_second_projection(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node);

}  // namespace sim
