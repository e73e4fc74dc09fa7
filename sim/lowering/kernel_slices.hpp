#pragma once
// Collectives of tensor parallelism that run beside the products next to them (Megatron-LM's --tp-comm-overlap, TransformerEngine's ring
// exchange). A product is cut into as many pieces as devices take part in the collective. One that reads what an all-gather makes begins
// with the piece that is at hand, and ends with the one that comes last; a reduce-scatter begins with the first piece of the product that
// makes what it adds up. The pair takes max(product, collective + product / pieces).
// And attention in pieces beside the hops of a ring (pcg::KeyExchange). Internal to sim/lowering.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The operator is a product with a weight: a linear layer, or the head.
[[nodiscard]] bool is_product(const Lowering& l, std::uint32_t node);

// The pieces that a product next to a movement is cut into: the movement is collectives of this kind and nothing else. Else nullopt.
[[nodiscard]] std::optional<std::size_t> pieces_beside(const Movement& movement, CollectiveKind kind);

// The share of a product's forward kernels that waits for the whole gather, where products `readers` read it one after another and `node`
// is one of them: the last piece of their common work falls to the last of them.
[[nodiscard]] double share_after_gather(const Lowering& l, std::uint32_t node, std::span<const std::uint32_t> readers, std::size_t pieces);

// Puts kernels beside a ring into a block, in one piece more than there are hops: piece i meets the block of keys that hop i brings. All
// pieces have equal work, as causal attention is balanced by giving each rank a chunk from the front and one from the back of the sequence.
// A hop passes on the block that came with the one before, into the place of the block that the last piece but one has met. `first`: what
// the first piece and the first hop wait for; piece(i): the kernels of piece i.
// Returns: the items of the pieces. Without communication they take the kernels' time; with kernels of t and hops of u, hops max(t, u) + t.
std::vector<std::uint32_t> append_ring(Block& block, MovementId hop, std::size_t hops, const Item& first,
                                       const std::function<Compute(std::size_t)>& piece);
// The gradients of the blocks follow: hop i passes on what pieces 1 to i have added up, and the last one brings it home.
// Returns: the last hop. Requires: hops >= 1.
std::uint32_t append_gradient_ring(Block& block, MovementId hop, std::span<const std::uint32_t> pieces, std::uint32_t node);

// Changes what `item` waits for, so that it starts together with item `gather` of the block instead of waiting for it.
void start_with(const Block& block, std::uint32_t gather, Item& item);

}  // namespace sim
