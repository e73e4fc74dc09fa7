#pragma once
// Small chains of layers at random, and the best answer by looking at all of them.

#include <rapidcheck.h>

#include <algorithm>
#include <limits>

#include "search/solve/layers/layer_chain.hpp"

namespace test {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The least that any answer takes.
inline double least_of_all(const search::LayerChain& chain, search::ChainAnswer& answer) {
  const std::size_t layers = chain.kinds.size(), stages = chain.stages();
  if (answer.begins.size() < stages) {
    double least = kNever;
    const std::size_t from = answer.begins.empty() ? 0 : answer.begins.back() + 1;
    for (std::size_t begin = from; begin < (answer.begins.empty() ? 1 : layers); ++begin) {
      answer.begins.push_back(begin);
      least = std::min(least, least_of_all(chain, answer));
      answer.begins.pop_back();
    }
    return least;
  }
  if (answer.strategies.size() == layers) return search::chain_seconds(chain, answer);
  double least = kNever;
  for (std::uint32_t s = 0; s < chain.tables[0][0].seconds.size(); ++s) {
    answer.strategies.push_back(s);
    least = std::min(least, least_of_all(chain, answer));
    answer.strategies.pop_back();
  }
  return least;
}

// Whole numbers, so that ties are many. `tight`: memory for a little more than the leanest layers on average.
inline search::LayerChain random_chain(bool tight, bool has_long_edges = false) {
  const auto number = [](int least, int most) { return static_cast<double>(*rc::gen::inRange(least, most + 1)); };
  const auto layers = static_cast<std::size_t>(number(2, 6)), strategies = static_cast<std::size_t>(number(1, 3));
  const auto stages = static_cast<std::size_t>(number(1, std::min(4, static_cast<int>(layers))));
  const auto pairs = [&](int most) {
    search::StrategyPairs p(strategies, std::vector<double>(strategies));
    for (auto& row : p)
      for (double& cell : row) cell = number(0, most);
    return p;
  };
  search::LayerChain chain;
  for (std::size_t l = 0; l < layers; ++l) chain.kinds.push_back(l == 0 ? 0 : l + 1 == layers ? 2 : 1);
  for (std::size_t t = 0; t < stages; ++t) {
    std::vector<search::LayerCost>& table = chain.tables.emplace_back();
    for (int kind = 0; kind < 3; ++kind) {
      search::LayerCost& cost = table.emplace_back();
      for (std::size_t s = 0; s < strategies; ++s) {
        cost.seconds.push_back(number(0, 9) == 0 ? kNever : number(1, 20));
        cost.bytes.push_back(number(1, 20));
      }
      cost.from_before = pairs(5);
    }
    chain.table_of_stage.push_back(static_cast<std::size_t>(number(0, static_cast<int>(t))));
    if (t > 0) chain.transfers.push_back({pairs(9), pairs(9), pairs(9)});
  }
  chain.micro_batches = static_cast<int>(number(1, 8));
  const auto long_edge = [&](std::size_t from) {
    search::LongEdge edge{.from = from, .readers = {}, .next_reads = number(0, 1) == 1, .seconds = {}};
    for (std::size_t reader = from + 2; reader < layers; ++reader)
      if (number(0, 2) > 0) edge.readers.push_back(reader);
    edge.seconds.assign(stages, {});
    for (auto& by_reader : edge.seconds)
      for (std::size_t to = 0; to < stages; ++to) by_reader.push_back(pairs(9));
    return edge;
  };
  for (std::size_t from = 0; has_long_edges && from + 2 < layers; ++from)
    if (number(0, 1) == 1) chain.long_edges.push_back(long_edge(from));
  if (tight) chain.memory = number(5, 15) * static_cast<double>(layers) / static_cast<double>(stages);
  return chain;
}

}  // namespace test
