#pragma once
// Collectives of tensor parallelism that overlap with the products next to them (Megatron-LM's --tp-comm-overlap, TransformerEngine's ring
// exchange). A product is cut into as many slices as devices take part in the collective. One that reads what an all-gather makes begins
// with the slice that is there, and ends with the one that comes last; a reduce-scatter begins with the first slice of the product that
// makes what it adds up. The pair takes max(product, collective + product / slices).
// Attention in slices overlaps the hops of a ring (pcg::KeyExchange). Internal to sim/lowering.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The operator is a product with a weight: a linear layer, or the head.
[[nodiscard]] bool is_product(const Lowering& l, std::uint32_t node);

// The slices that a product next to a movement is cut into: the movement is collectives of this kind and nothing else. Else nullopt.
[[nodiscard]] std::optional<std::size_t> overlapped_slices(const Movement& movement, CollectiveKind kind);

// The share of a product's forward kernels that waits for the whole gather, where products `readers` read it one after another and `node`
// is one of them: the last slice of their common work falls to the last of them.
[[nodiscard]] double share_after_gather(const Lowering& l, std::uint32_t node, std::span<const std::uint32_t> readers, std::size_t slices);

// Puts kernels that overlap with a ring into a block, in one slice more than there are hops: slice i meets the block of keys of hop i. All
// slices have equal work, as causal attention is balanced by giving each rank a chunk from the front and one from the back of the sequence.
// A hop passes on the block that came with the one before, into the place of the block that the last slice but one has met. `first`: what
// the first slice and the first hop wait for; slice(i): the kernels of slice i.
// Returns: the items of the slices. Without communication they take the kernels' time; with kernels of t and hops of u, hops max(t, u) + t.
std::vector<std::uint32_t> append_ring(Block& block, MovementId hop, std::size_t hops, const Item& first,
                                       const std::function<Compute(std::size_t)>& slice);
// The gradients of the blocks follow: hop i passes on what slices 1 to i have added up, and the last one returns it to its owner.
// Returns: the last hop.
// Requires: hops >= 1.
std::uint32_t append_gradient_ring(Block& block, MovementId hop, std::span<const std::uint32_t> slices, std::uint32_t node);

// Changes what `item` waits for, so that it starts together with item `gather` of the block instead of waiting for it.
void start_with(const Block& block, std::uint32_t gather, Item& item);

}  // namespace sim
