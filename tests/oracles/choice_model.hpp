#pragma once
// Choices within a limit as a mixed-integer linear model: Alpa's (OSDI'22, section 4.2, equation 1), with its products of two choices
// made linear. Of every operator one choice, of every pair of operators one pair of choices, whose sums over either operator are the choice
// of the other; pairs are then whole numbers by themselves. All bytes are one row.

#include <optional>

#include "search/solve/memory_constrained/cheapest_within.hpp"
#include "tests/oracles/milp.hpp"

namespace oracles {

class ChoiceModel {
 public:
  // `about`: a cost like that of the answer, by which the objective is scaled. Requires: positive.
  ChoiceModel(const search::ConstrainedProblem& problem, double about);

  [[nodiscard]] const MilpModel& model() const { return model_; }
  [[nodiscard]] double objective(double cost) const { return cost * scale_; }
  [[nodiscard]] double cost(double objective) const { return objective / scale_; }
  // The solution that stands for choices, and the choices that a solution stands for.
  [[nodiscard]] std::vector<double> values(const std::vector<std::uint32_t>& choice) const;
  [[nodiscard]] std::vector<std::uint32_t> choice(const std::vector<double>& values) const;

 private:
  void add_pair(const search::ChoiceProblem::Pair& pair);

  struct PairColumns {
    std::uint32_t first = 0, second = 0;
    std::size_t begin = 0, row_length = 0;
  };
  double scale_;
  MilpModel model_;
  std::vector<std::size_t> begin_;  // the column of each operator's first choice
  std::vector<PairColumns> pairs_;
};

}  // namespace oracles
