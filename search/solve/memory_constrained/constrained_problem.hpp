#pragma once
// Choices that together may take so many bytes and no more: the memory limit of Alpa's integer programme (Zheng et al., OSDI'22, section
// 4.2), where what a device keeps is a sum over operators.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/solve/operators/elimination.hpp"

namespace search {

struct ConstrainedProblem {
  ChoiceProblem choices;
  std::vector<std::vector<double>> bytes;  // [operator][choice]; neither costs nor bytes are negative
  double limit = 0;                        // of their sum
};

[[nodiscard]] inline double bytes_of(const ConstrainedProblem& problem, const std::vector<std::uint32_t>& choice) {
  double sum = 0;
  for (std::size_t o = 0; o < choice.size(); ++o) sum += problem.bytes[o][choice[o]];
  return sum;
}

// Sums in another order differ by their last digits.
[[nodiscard]] inline double most_bytes(const ConstrainedProblem& problem) { return problem.limit * (1 + 1e-12); }

[[nodiscard]] inline bool fits(const ConstrainedProblem& problem, const std::vector<std::uint32_t>& choice) {
  return bytes_of(problem, choice) <= most_bytes(problem);
}

// Of any choice.
[[nodiscard]] inline double least_bytes(const ConstrainedProblem& problem) {
  double sum = 0;
  for (const std::vector<double>& b : problem.bytes) sum += *std::ranges::min_element(b);
  return sum;
}

// Costs with bytes at a price.
[[nodiscard]] inline ChoiceProblem priced(const ConstrainedProblem& problem, double price) {
  ChoiceProblem p = problem.choices;
  for (std::size_t o = 0; o < p.costs.size(); ++o)
    for (std::size_t c = 0; c < p.costs[o].size(); ++c) p.costs[o][c] += price * problem.bytes[o][c];
  return p;
}

}  // namespace search
