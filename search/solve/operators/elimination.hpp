#pragma once
// The cheapest choice for every operator, where costs are of single operators and of pairs: exact, by eliminating one operator after
// another (Jia et al., "Exploring Hidden Dimensions in Accelerating Convolutional Neural Networks", ICML'18, section 5.2, does so where an
// operator has two neighbours; the general step is bucket elimination, Dechter, Artificial Intelligence 113, 1999). Residual networks,
// transformers and towers that meet have operators of at most two neighbours until none is left.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.hpp"

namespace search {

// Seconds by the choices of two operators, row by row.
struct PairCosts {
  std::size_t rows = 0, columns = 0;
  std::vector<double> seconds;
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return seconds[row * columns + column]; }
};

struct ChoiceProblem {
  struct Pair {
    std::uint32_t first, second;             // operators; `first` has the rows
    std::shared_ptr<const PairCosts> costs;  // equal pairs of a model share theirs
  };
  std::vector<std::vector<double>> costs;  // [operator][choice]; every operator has a choice
  std::vector<Pair> pairs;                 // any number of them of the same two operators
};

struct Chosen {
  std::vector<std::uint32_t> choice;  // per operator
  double seconds = 0;
  // Whether no other choices are cheaper. They may be where a step would need a table of more than `most_entries`: then the operators
  // next to it keep but their cheapest choices.
  bool is_optimal = true;
};

inline constexpr double kMostEntries = 2e7;
// Cost: O(operators x c^(w + 1)) for c choices, where the eliminated operators have w neighbours.
[[nodiscard]] Chosen cheapest(const ChoiceProblem& problem, double most_entries = kMostEntries);

// Returns what cheapest() costs, in seconds of one core as steps are counted (sim/effort.hpp): chains of operators of c choices take c^3
// for each pair.
[[nodiscard]] base::Seconds effort_of(const ChoiceProblem& problem);

// The cost of the cheapest choices of all others, by the choices of two operators; of one, where they are the same, in one row.
[[nodiscard]] PairCosts cheapest_between(const ChoiceProblem& problem, std::uint32_t first, std::uint32_t second);

[[nodiscard]] double cost_of(const ChoiceProblem& problem, const std::vector<std::uint32_t>& choice);

// Choices that no cheapest answer has: dead-end elimination (Goldstein, Biophysical Journal 66, 1994). A choice is left out where another
// one of the same operator costs no more whatever the neighbours choose:
//   cost(s) - cost(r) + sum over neighbours of min over their choices x of (pair(s, x) - pair(r, x)) >= 0.
// Returns: per operator, the choices that are left, ascending; at least one. The cheapest answer among them costs what the cheapest one of
// all does. `bytes`, of each choice: a choice is left out only where the other one takes no more of these either, so that the same is true
// of answers within any limit of bytes.
// Cost: O(rounds x pairs x c^2) for c choices that are left, held against a few cheap ones each.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> without_dead_ends(const ChoiceProblem& problem,
                                                                        const std::vector<std::vector<double>>* bytes = nullptr);

[[nodiscard]] ChoiceProblem restricted(const ChoiceProblem& problem, const std::vector<std::vector<std::uint32_t>>& left);

}  // namespace search
