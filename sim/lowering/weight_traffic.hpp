#pragma once
// Weights and gradients on their way between the devices that share them: what a stage holds, in which buckets, of how many bytes. Internal
// to sim/lowering.

#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The ZeRO stage at which the variant holds a weight.
[[nodiscard]] int zero_of(const Lowering& l, std::uint32_t weight);

// Of one shard of the weight that input `input` of `node` reads: its parameters, their bytes where they are gathered, and those of the
// gradient.
[[nodiscard]] double shard_elements(const Lowering& l, std::uint32_t node, std::uint32_t input);
[[nodiscard]] base::Bytes gathered_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);
[[nodiscard]] base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);

// A weight as one stage holds it, through its earliest reader there.
struct HeldWeight {
  std::uint32_t weight = 0, reader = 0, input = 0;
};
// Those of a stage, in the order in which a backward pass comes to them; and of them those that an optimizer updates.
[[nodiscard]] std::vector<HeldWeight> held_weights(const Lowering& l, int stage);
[[nodiscard]] std::vector<HeldWeight> trained_weights(const Lowering& l, int stage);

// What a bucket of the stage's gradients holds before it goes.
[[nodiscard]] base::Bytes gradient_bucket(const Lowering& l, int stage);
// Parameters of a bucket of the stage's updated weights: those of a bucket of gradients that are overlapped.
[[nodiscard]] double weight_bucket(const Lowering& l, int stage);

// Whether the node reads weights of a unit that is gathered for each pass (ZeRO-3).
[[nodiscard]] bool is_of_unit(const Lowering& l, std::uint32_t node);
// Adds to a pass what the host does for each such unit in it (HostCosts::unit), before the unit's first kernels.
void add_host_time_of_units(const Lowering& l, Block& block);
// What is done with such weights once they are gathered: copies out of the buffer, casts. No parts: nothing.
[[nodiscard]] Compute work_on_gathered_weight(const Lowering& l, std::uint32_t node);

// The same collective of `bytes` in every group of the pattern at once.
[[nodiscard]] MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes);

}  // namespace sim
