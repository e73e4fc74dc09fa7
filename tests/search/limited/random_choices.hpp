#pragma once
// Small problems of choices within a limit of bytes, at random.

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "search/solve/memory_constrained/cheapest_within.hpp"

namespace test {

inline int some(int least, int most) { return *rc::gen::inRange(least, most + 1); }

// A chain with branches: each operator follows the one before, and some read one that is further behind or are in no pair at all. Whole
// numbers, so that ties are many. Limits lie between the least and the most that choices take, and a little outside.
inline search::ConstrainedProblem random_limited(int most_operators = 7, int most_strategies = 4) {
  search::ConstrainedProblem p;
  const int operators = some(1, most_operators);
  double least = 0, most = 0;
  for (int o = 0; o < operators; ++o) {
    const int strategies = some(1, most_strategies);
    p.choices.costs.emplace_back();
    p.bytes.emplace_back();
    for (int w = 0; w < strategies; ++w) {
      p.choices.costs.back().push_back(some(0, 20));
      p.bytes.back().push_back(some(0, 15));
    }
    least += std::ranges::min(p.bytes.back());
    most += std::ranges::max(p.bytes.back());
  }
  const auto join = [&](int a, int b) {
    search::PairCosts costs{p.bytes[static_cast<std::size_t>(a)].size(), p.bytes[static_cast<std::size_t>(b)].size(), {}};
    for (std::size_t i = 0; i < costs.rows * costs.columns; ++i) costs.seconds.push_back(some(0, 9));
    p.choices.pairs.push_back(
        {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), std::make_shared<search::PairCosts>(std::move(costs))});
  };
  for (int o = 1; o < operators; ++o) {
    if (some(0, 9) > 0) join(o - 1, o);
    if (some(0, 2) == 0) join(some(0, operators - 1), some(0, operators - 1));
  }
  p.limit = std::floor(least + (most - least + 2) * some(0, 100) / 100 - 1);
  return p;
}

}  // namespace test
