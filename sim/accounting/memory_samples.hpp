#pragma once
// Memory of the simulated devices over time.

#include <span>
#include <vector>

#include "sim/accounting/accounts.hpp"
#include "sim/memory/memory.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// Model states, and what context and libraries reserve, from the start; a micro-batch's activations from the end of its forward to the end
// of its backward pass, where the transient part is on top of them. `devices`: as device_memory gives them. Returns: samples by device
// class, then by time. Cost: O(device classes x tasks).
[[nodiscard]] std::vector<MemorySample> memory_samples(const Accounts& a, std::span<const DeviceMemory> devices);

}  // namespace sim
