#pragma once
// Exchanges of tokens between the ranks that share experts out: the tokens that dispatch hands out and those that combine brings back.
// Where passes are merged they have a stream of their own, so that the kernels of the other pass do not wait for what is queued behind
// them. Internal to sim/lowering.

#include <optional>
#include <string>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The stream of a movement inside a stage, of what `producer` makes and `consumer` reads, or of its gradient.
[[nodiscard]] StreamKind stream_between(const Lowering& l, std::uint32_t producer, std::uint32_t consumer, MovementId movement);

// Whether some block of the program exchanges tokens on that stream. Cost: O(items).
[[nodiscard]] bool exchanges_tokens(const Program& program);

// What the library that the plan names for dispatch does not change, if there is such a thing.
[[nodiscard]] std::optional<std::string> unused_dispatch(const pcg::Plan& plan, const FlowGraph& flow, const Program& program,
                                                         const topology::Cluster& cluster);

}  // namespace sim
