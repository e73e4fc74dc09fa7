#pragma once
// Random small sizes for a graph, so that it can be evaluated exactly.

#include <cstdint>
#include <optional>

#include "pcg/resizing/resize.hpp"

namespace pcg {

// Returns a random map to small sizes under which the graph is well-formed and, if a PCG is given, the shardings of that stay lawful;
// nullopt when `attempts` draws found none. Requires: graph and PCG hold the same batch. Keeps: free sizes above 2 that
// differ are different afterwards.
[[nodiscard]] std::optional<SizeMap> draw_sizes(const Graph& graph, const Pcg* pcg, std::uint64_t seed, int attempts = 64);

}  // namespace pcg
