#pragma once
// The cheapest strategies for runs of layers on one stage, for every amount of memory that they may take: label-setting, where a label is
// dropped that another one beats in seconds and bytes.

#include <cstdint>
#include <vector>

#include "search/solve/layers/layer_chain.hpp"

namespace search {

// Runs that begin with one layer and grow forwards, or end with one and grow backwards.
class MemoryFronts {
 public:
  enum class Direction { forwards, backwards };
  // `most_layers`: of a run. Labels of `most_seconds` or more, or that do not fit, are dropped. `strategies`: of the layer that all runs
  // have; its seconds count `arrival[strategy]` more. The chain outlives the object.
  MemoryFronts(const LayerChain& chain, const std::vector<LayerCost>& table, std::size_t first, Direction direction,
               std::size_t most_layers, const std::vector<double>& arrival, double most_seconds);

  // Least seconds of a run of `layers` whose far end is in a strategy; infinite: none.
  [[nodiscard]] double seconds(std::size_t layers, std::uint32_t strategy) const;
  // The strategies of that run, in the order of the chain.
  // Requires: seconds() is finite.
  [[nodiscard]] std::vector<std::uint32_t> strategies(std::size_t layers, std::uint32_t strategy) const;

 private:
  struct Label {
    double seconds = 0, bytes = 0;
    std::uint32_t strategy_before = 0, label_before = 0;
  };
  using Front = std::vector<Label>;  // cheapest first; each needs less memory than those before
  void add_layer(const LayerCost& own, const StrategyPairs& moves, bool own_is_first, double memory, double most_seconds);
  // The labels of one strategy, each with what another layer after it adds.
  struct Grown {
    const Front& front;
    double seconds, bytes;
  };
  [[nodiscard]] static Front front_of(const std::vector<Grown>& grown, double memory, double most_seconds);

  Direction direction_;
  std::vector<std::vector<Front>> fronts_;  // by layers - 1 and strategy
};

}  // namespace search
