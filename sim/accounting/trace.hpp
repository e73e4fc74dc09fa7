#pragma once
// What ran when, for a trace.

#include <vector>

#include "sim/accounting/accounts.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Returns: one span for each kernel group of an operator, each transfer (on each device class that takes part) and each launch, of the
// simulated devices; by device, stream, start. Kernels that are slowed share the time of their run in proportion to what they take alone.
// Cost: O(spans log spans).
[[nodiscard]] std::vector<Span> spans_of(const Accounts& a);

// Returns, per simulated device, all devices that do the same, itself first, ascending.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> classes_of(const Folded& folded);

}  // namespace sim
