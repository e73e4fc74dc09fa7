#pragma once
// What edges of a chain that leave layers out cost an answer.

#include <compare>
#include <vector>

#include "search/solve/layers/layer_chain.hpp"

namespace search {

// A tensor comes from a stage, where a strategy made it, to readers of one strategy on a stage.
struct LongArrival {
  std::size_t edge = 0, from = 0;
  std::uint32_t made = 0;
  std::size_t to = 0;
  std::uint32_t read = 0;
  auto operator<=>(const LongArrival&) const = default;
};
// Each once.
[[nodiscard]] std::vector<LongArrival> long_arrivals(const LayerChain& chain, const ChainAnswer& answer);

[[nodiscard]] inline double seconds_of(const LayerChain& chain, const LongArrival& a) {
  return chain.long_edges[a.edge].seconds[a.from][a.to][a.made][a.read];
}

}  // namespace search
