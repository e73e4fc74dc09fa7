#pragma once
// Rebuilding a graph by a map of its free sizes.

#include "pcg/resizing/rebuild.hpp"
#include "pcg/resizing/resize.hpp"

namespace pcg {

// Requires: the map outlives what is returned.
[[nodiscard]] Rebuild by(const SizeMap& map);

}  // namespace pcg
