#pragma once
// The cheapest answer to a chain of layers by a mixed-integer linear programme: the same problem as cheapest_chain() solves, by a solver
// that knows nothing of chains.

#include <cstdint>
#include <optional>

#include "search/solve/layers/layer_chain.hpp"
#include "search/solve/milp/cbc.hpp"

namespace search {

struct MilpChain {
  std::optional<ChainAnswer> answer;  // re-evaluated by chain_seconds(); nullopt: none below `to_beat` was found
  double bound = 0;                   // seconds that no answer below `to_beat` takes less than, as the solver says; infinite: there is none
  std::uint64_t nodes = 0;            // of branch and cut
  bool is_proved = false;             // the answer is the best, or there is none, as the solver says: to a ten-millionth
};

// `start`: an answer to begin with, where one is known. `limits`: seconds and nodes; the budget's time ends it, too.
[[nodiscard]] MilpChain cheapest_chain_by_milp(const LayerChain& chain, double to_beat, const std::optional<ChainAnswer>& start,
                                               MilpLimits limits, const Budget& budget);

// An answer to begin with: stages of equally many layers, all of which take the same strategy, whichever is best. nullopt: none fits.
[[nodiscard]] std::optional<ChainAnswer> uniform_chain(const LayerChain& chain);

}  // namespace search
