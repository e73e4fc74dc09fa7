#pragma once
// Host time to launch a collective or a message.

#include "sim/dataflow/movement.hpp"

namespace sim {

// Returns: `launch` for a message. A collective waits for the slowest of its n hosts: if each is late by an exponential time of mean
// `jitter`, the slowest is late by jitter x (1 + 1/2 + ... + 1/n), so by jitter x (1/2 + ... + 1/n) more than each alone.
// Cost: O(n).
[[nodiscard]] double transfer_launch_s(const Transfer& transfer, base::Seconds launch, base::Seconds jitter);

}  // namespace sim
