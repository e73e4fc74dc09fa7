#pragma once
// Layers in a row, shared out in order among the stages of a pipeline, each in one of several strategies: UniAP's problem (Lin et al.,
// CVPR'25, section 3) with costs and memory as numbers, solved exactly. The paper's mixed-integer quadratic program falls apart on a
// chain: stages meet only at their ends, and for given strategies there a cheaper stage is never worse, in the sum or in the maximum.
// Start here:
//   layer_chain.hpp    LayerChain: the problem; cheapest_chain(), even_chain(); chain_seconds(): an answer's cost
//   memory_fronts.cpp  MemoryFronts: runs of layers on one stage, for every amount of memory
//   chain_costs.hpp    split_into_layers(), layer_strategies(); ChainCosts: a model's chains; layered_plan(): from an answer to a plan
//   chain_search.hpp   ChainSearch: the search that UniAP and Galvatron share

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "search/problem/budget.hpp"

namespace search {

// By strategy of a layer, and of the layer after it.
using StrategyPairs = std::vector<std::vector<double>>;

// Costs of layers of one kind on a stage, by strategy.
struct LayerCost {
  std::vector<double> seconds;  // of a micro-batch, forward and backward, and its share of the update; infinite: it cannot run so
  std::vector<double> bytes;    // on each device of the stage, of all that is there at once
  StrategyPairs from_before;    // seconds of bringing tensors from the layer before, on the same stage, and gradients back
};

// A tensor that layers after the next one read, as every layer of a decoder reads what the encoder made. It goes straight to each stage
// that reads it, once for every strategy of readers there, and counts as the stage's own, or as that of the boundary after its maker.
// Where the layer next to its maker reads it too, on that stage in that strategy, that layer's own move has brought it already.
struct LongEdge {
  std::size_t from = 0;              // the layer that makes it
  std::vector<std::size_t> readers;  // layers after the next one, ascending
  bool next_reads = false;           // the next one reads it, too
  // By stage of the maker and stage of the reader, not before it: seconds of bringing the tensor there, and gradients back.
  std::vector<std::vector<StrategyPairs>> seconds;
};

struct LayerChain {
  std::vector<std::size_t> kinds;              // of each layer; the layer before one of a kind is always of one kind
  std::vector<std::vector<LayerCost>> tables;  // each by kind
  std::vector<std::size_t> table_of_stage;
  // By boundary between stages and kind of the layer after it: seconds of bringing tensors over, and gradients back.
  std::vector<std::vector<StrategyPairs>> transfers;
  std::vector<LongEdge> long_edges = {};
  int micro_batches = 1;
  double once = 0;                                          // seconds of an iteration that are the same for every answer
  double memory = std::numeric_limits<double>::infinity();  // bytes of a device

  [[nodiscard]] std::size_t stages() const { return table_of_stage.size(); }
};

struct ChainAnswer {
  std::vector<std::size_t> begins;        // the first layer of each stage
  std::vector<std::uint32_t> strategies;  // of each layer
  double seconds = 0;                     // of an iteration
  bool operator==(const ChainAnswer&) const = default;
};

// Seconds of an iteration, long edges included: every stage and every boundary once, and the slowest of them all micro_batches - 1 times
// more (section 3.3); and LayerChain::once. Infinite: a stage needs more memory than there is, or a layer cannot run so.
[[nodiscard]] double chain_seconds(const LayerChain& chain, const ChainAnswer& answer);

// A bound of it for any answer: every layer in its quickest strategy, stages as long as each other, nothing moved.
[[nodiscard]] double chain_at_least(const LayerChain& chain);

// Long edges are left out: they tie stages to each other. Seconds are those without them.
// Returns: the answer that takes least; nullopt: none fits, none takes less than `to_beat`, or the time is up.
// Cost: O(layers x strategies^2) fronts of memory and time for each kind of first layer of a stage, then O(stages x layers^2 x
// strategies^2) for each trade between the sum and the slowest.
[[nodiscard]] std::optional<ChainAnswer> cheapest_chain(const LayerChain& chain, double to_beat, const Budget& budget);

// Galvatron's answer (Miao et al., VLDB'23): every stage takes as many layers, the last one what is left, and its strategies are the
// cheapest for this stage alone, one stage after another. nullopt: a stage does not fit.
[[nodiscard]] std::optional<ChainAnswer> even_chain(const LayerChain& chain, const Budget& budget);

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

// The cheapest strategies for runs of layers on one stage, for every amount of memory that they may take: label-setting, where a label is
// dropped that another one beats in seconds and bytes.
// Runs that begin with one layer and grow forwards, or end with one and grow backwards.
class MemoryFronts {
 public:
  enum class Direction { forwards, backwards };
  // `most_layers`: of a run. Labels of `most_seconds` or more, or that do not fit, are dropped. `strategies`: of the layer that all runs
  // have; its seconds count `arrival[strategy]` more. The chain outlives the object.
  MemoryFronts(const LayerChain& chain, const std::vector<LayerCost>& table, std::size_t first, Direction direction,
               std::size_t most_layers, const std::vector<double>& arrival, double most_seconds, const Budget& budget);

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
