#pragma once
// The choice of an answer to a chain of layers as a mixed-integer linear model, UniAP's quadratic one (Lin et al., CVPR'25, section 3)
// made linear: a column that is 0 or 1 for each layer, stage and strategy, and a flow from layer to layer through them, whose costs are
// those of the quadratic terms. On a chain the flow keeps stages in order and without gaps. Long edges are flows of their own.

#include <map>
#include <optional>
#include <vector>

#include "search/solve/layers/layer_chain.hpp"
#include "tests/oracles/milp.hpp"

namespace oracles {

class ChainModel {
 public:
  // `about`: seconds that an answer may take, which numbers are scaled by. Keeps the chain, which outlives the object.
  // Requires: as many layers as stages, at least.
  ChainModel(const search::LayerChain& chain, double about);

  [[nodiscard]] const MilpModel& model() const { return model_; }
  // The objective for seconds of an iteration, and back.
  [[nodiscard]] double objective(double seconds) const { return (seconds - chain_.once) * scale_; }
  [[nodiscard]] double seconds(double objective) const { return objective / scale_ + chain_.once; }
  // The values of all columns for an answer. Requires: chain_seconds() of it is finite.
  [[nodiscard]] std::vector<double> values(const search::ChainAnswer& answer) const;
  // The answer that a solution stands for, with its chain_seconds().
  [[nodiscard]] search::ChainAnswer answer(const std::vector<double>& values) const;

 private:
  // A layer on a stage: its columns, by strategy, and those from each strategy of the layer before, on the same stage and on the one
  // before. kNone: cannot be.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  using Pairs = std::vector<std::vector<std::size_t>>;
  struct Place {
    std::vector<std::size_t> chosen;
    Pairs same, over;
  };

  [[nodiscard]] const search::LayerCost& cost(std::size_t layer, std::size_t stage) const {
    return chain_.tables[chain_.table_of_stage[stage]][chain_.kinds[layer]];
  }
  [[nodiscard]] bool can_be(std::size_t layer, std::size_t stage) const;
  void add_choices();
  void add_flows();
  [[nodiscard]] Pairs flows(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to, const search::StrategyPairs& seconds);
  void keep_flow(std::size_t layer, std::size_t stage);
  void add_long_edge(std::size_t edge);
  void add_slowest();
  void add_memory();

  const search::LayerChain& chain_;
  double scale_;
  std::uint32_t strategies_;
  MilpModel model_;
  std::vector<std::vector<Place>> places_;  // [layer][stage]
  std::map<search::LongArrival, std::size_t> arrivals_;
  // Whether an edge's tensor is read on a stage in a strategy: arrivals without their maker's stage and strategy, which are 0.
  std::map<search::LongArrival, std::size_t> readings_;
  std::size_t slowest_ = kNone;  // the column of the slowest stage or boundary
};

struct MilpChain {
  std::optional<search::ChainAnswer> answer;  // re-evaluated by chain_seconds(); nullopt: none below `to_beat` was found
  double bound = 0;        // seconds that no answer below `to_beat` takes less than, as the solver says; infinite: there is none
  bool is_proved = false;  // the answer is the best, or there is none, as the solver says: to a ten-millionth
};

// The problem of search::cheapest_chain(), and long edges, by a solver that knows nothing of chains. `start`: an answer to begin with,
// where one is known. `given`: its nodes; the cutoff follows from `to_beat`.
[[nodiscard]] MilpChain cheapest_chain_by_milp(const search::LayerChain& chain, double to_beat,
                                               const std::optional<search::ChainAnswer>& start, const MilpLimits& given = {});

// An answer to begin with: stages of equally many layers, all of which take the same strategy, whichever is best. nullopt: none fits.
[[nodiscard]] std::optional<search::ChainAnswer> uniform_chain(const search::LayerChain& chain);

}  // namespace oracles
