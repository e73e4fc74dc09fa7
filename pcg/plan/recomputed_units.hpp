#pragma once
// The parts of a stage that are recomputed in its backward pass, and which are recomputed together.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace pcg {

// Nodes that are computed again together, ascending.
struct RecomputedUnit {
  std::vector<std::uint32_t> nodes;
  // Outputs for other nodes are kept: a whole block. Else they are dropped like tensors inside, and the unit is computed again before the
  // first gradient that needs any of it (output-discarding checkpoints of Megatron-Core, which it uses for norms, activations and
  // up-projections; of other modules it keeps the output).
  bool keeps_outputs = false;
};

// Whether a node's name has a part between dots ("mlp" of "layer 3.mlp.up").
[[nodiscard]] bool has_part(std::string_view name, std::string_view part);
// Whether a node belongs to a module: by its operator, or by a part of its name as model families give it ("layer 3.mlp.up").
[[nodiscard]] bool is_of(const PcgNode& node, Module module);

// `nodes`: of one virtual stage, ascending. `recompute`: instead of the plan's own word. Units are whole blocks, or runs of computing
// nodes of a block that belong to the plan's modules. Selective recomputation has none: it recomputes scores within an operator.
// Cost: O(nodes x modules).
[[nodiscard]] std::vector<RecomputedUnit> recomputed_units(const Plan& plan, Recompute recompute, std::span<const std::uint32_t> nodes);

// The nodes of a unit that run again. `stops_early`: a block whose outputs were kept runs up to the last tensor that its gradients read,
// the way PyTorch's non-reentrant checkpoints do: a last product reads what came into it, and is not run. Returns a prefix of the unit's
// nodes. Cost: O(nodes).
[[nodiscard]] std::span<const std::uint32_t> run_again(const Plan& plan, const RecomputedUnit& unit, bool stops_early);

}  // namespace pcg
