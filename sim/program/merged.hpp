#pragma once
// A forward pass of one micro-batch and a backward pass of another that a rank runs at once: their parts alternate, so that the tokens of
// the one travel beside the kernels of the other (Megatron-Core's --overlap-moe-expert-parallel-comm; DualPipe, arXiv 2412.19437, section
// 3.2.1). A part ends where the pass sends tokens on their way.

#include <cstddef>
#include <vector>

#include "sim/program/program.hpp"

namespace sim {

// The order of so many parts: the pass that has less of its parts behind it goes on, the backward pass first.
[[nodiscard]] std::vector<Pass> alternation(std::size_t forward_parts, std::size_t backward_parts);

// Returns: one block with the items of both in that order. Their events are told apart by the passes that they are at home in.
// Cost: O(items and what they wait for).
[[nodiscard]] Block merged(const Block& forward, const Block& backward);

}  // namespace sim
