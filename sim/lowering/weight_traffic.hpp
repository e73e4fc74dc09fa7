#pragma once
// Bytes of weights and gradients on their way between the devices that share them. Internal to sim/lowering.

#include "sim/lowering/lowering.hpp"

namespace sim {

// Bytes of one shard of the weight that input `input` of `node` reads, and of its gradient.
[[nodiscard]] base::Bytes weight_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);
[[nodiscard]] base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);

// The same collective of `bytes` in every group of the pattern at once.
[[nodiscard]] MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes);

}  // namespace sim
