#pragma once
// The convolutions of the grid. Private to this folder.

#include <cstdint>
#include <vector>

#include "tools/collector/case.hpp"

namespace collector {

// Returns: layers of ResNeXt-50 and Inception-v3, and random ones, forward and both gradients.
[[nodiscard]] std::vector<Case> convolution_cases(Precision p, std::uint64_t seed);

}  // namespace collector
