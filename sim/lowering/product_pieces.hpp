#pragma once
// Collectives of tensor parallelism that run beside the products next to them (Megatron-LM's --tp-comm-overlap, TransformerEngine's ring
// exchange). A product is cut into as many pieces as devices take part in the collective. One that reads what an all-gather makes begins
// with the piece that is at hand, and ends with the one that comes last; a reduce-scatter begins with the first piece of the product that
// makes what it adds up. The pair takes max(product, collective + product / pieces). Internal to sim/lowering.

#include <optional>
#include <span>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The operator is a product with a weight: a linear layer, or the head.
[[nodiscard]] bool is_product(const Lowering& l, std::uint32_t node);

// The pieces that a product next to a movement is cut into: the movement is collectives of this kind and nothing else. Else nullopt.
[[nodiscard]] std::optional<std::size_t> pieces_beside(const Movement& movement, CollectiveKind kind);

// The share of a product's forward kernels that waits for the whole gather, where products `readers` read it one after another and `node`
// is one of them: the last piece of their common work falls to the last of them.
[[nodiscard]] double share_after_gather(const Lowering& l, std::uint32_t node, std::span<const std::uint32_t> readers, std::size_t pieces);

// Changes what `item` waits for, so that it starts together with item `gather` of the block instead of waiting for it.
void start_with(const Block& block, std::uint32_t gather, Item& item);

}  // namespace sim
