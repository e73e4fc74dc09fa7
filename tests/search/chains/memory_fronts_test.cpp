// Runs of layers whose sums are small whole numbers.
#include "search/solve/layers/layer_chain.hpp"

#include <doctest/doctest.h>

#include <cmath>

using search::LayerChain;
using search::LayerCost;
using search::MemoryFronts;

namespace {

// Two layers of one kind. Strategy 0 takes 1 s and 4 bytes, strategy 1 takes 2 s and 1 byte; a change of strategy takes 8 s.
const LayerChain kChain{.kinds = {0, 0}, .tables = {}, .table_of_stage = {0}, .transfers = {}, .memory = 8};
const std::vector<LayerCost> kTable{{.seconds = {1, 2}, .bytes = {4, 1}, .from_before = {{0, 8}, {8, 0}}}};

const search::SearchContext kNoContext;
const search::Budget kWithoutEnd(kNoContext, base::Seconds(1));

MemoryFronts fronts(const LayerChain& chain, double most_seconds, const std::vector<double>& arrival = {0, 0}) {
  return {chain, kTable, 0, MemoryFronts::Direction::forwards, 2, arrival, most_seconds, kWithoutEnd};
}

}  // namespace

TEST_CASE("fronts give the cheapest run that fits, by the strategy of its far end") {
  const MemoryFronts all = fronts(kChain, 100);
  CHECK(all.seconds(1, 0) == 1);
  CHECK(all.seconds(2, 0) == 2);  // 8 bytes are just enough
  CHECK(all.seconds(2, 1) == 4);
  CHECK(all.strategies(2, 1) == std::vector<std::uint32_t>{1, 1});
  LayerChain small = kChain;
  small.memory = 7;
  CHECK(fronts(small, 100).seconds(2, 0) == 11);  // 2 + 8 + 1, in 5 bytes
  CHECK(fronts(small, 100).strategies(2, 0) == std::vector<std::uint32_t>{1, 0});
  small.memory = 4;
  CHECK(std::isinf(fronts(small, 100).seconds(2, 0)));
}

TEST_CASE("fronts leave out runs that take as long as the limit says, or longer") {
  CHECK(std::isinf(fronts(kChain, 2).seconds(2, 0)));
  CHECK(fronts(kChain, 2.5).seconds(2, 0) == 2);
  CHECK(std::isinf(fronts(kChain, 1).seconds(1, 0)));
  CHECK(std::isinf(fronts(kChain, 5, {3, 0}).seconds(2, 0)));  // arrival counts
}
