#pragma once
// The end of an iteration, for all stages. Internal to sim/lowering.

#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// Requires: all passes were lowered before; `synchronised`: what their backward passes give.
[[nodiscard]] Block lower_update(const Lowering& l, const std::vector<EventId>& synchronised);

}  // namespace sim
