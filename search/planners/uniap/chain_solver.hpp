#pragma once
// How UniAP's planner solves a chain of layers: by dynamic programming, or by a mixed-integer linear programme, which holds it against a
// method that shares nothing with it but the costs.

#include <optional>
#include <string>
#include <vector>

#include "search/solve/layers/layer_chain.hpp"

namespace search {

enum class SolverKind { exact, milp };

struct SolvedChain {
  std::optional<ChainAnswer> answer;
  double at_least = 0;       // seconds that no answer takes less than, if it takes less than `to_beat`; infinite: none does
  bool is_complete = false;  // the answer is the best, or there is none
};

class ChainSolver {
 public:
  // Requires: the budget outlives the object.
  ChainSolver(SolverKind kind, Budget& budget) : kind_(kind), budget_(budget) {}

  [[nodiscard]] SolverKind kind() const { return kind_; }
  // The answer that takes least, and less than `to_beat`; `exact` chooses and compares without long edges, which it adds to the seconds of
  // its answer. A programme begins with the best of a uniform answer and those to chains before that fit this one, too; it takes a quarter
  // of the time that is left, at most, or of the candidates, as which its nodes count.
  [[nodiscard]] SolvedChain solve(const LayerChain& chain, double to_beat);

 private:
  [[nodiscard]] std::optional<ChainAnswer> best_known(const LayerChain& chain) const;

  // An answer, and how many stages and strategies its chain has.
  struct Known {
    std::size_t stages, strategies;
    ChainAnswer answer;
  };
  SolverKind kind_;
  Budget& budget_;
  std::vector<Known> known_;
};

}  // namespace search
