#include "scenarios/capacity/entries.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

TEST_CASE("what no other is better than in both figures is on the frontier") {
  const std::vector<scenarios::Figures> all = {{1, 9}, {2, 5}, {2, 6}, {3, 5}, {4, 1}, {5, 1}};
  CHECK(scenarios::on_frontier(all) == std::vector<bool>{true, true, false, false, true, false});
  CHECK(scenarios::on_frontier({}).empty());
}

TEST_CASE("equal ones are on it together") {
  const std::vector<scenarios::Figures> all = {{2, 5}, {1, 9}, {2, 5}, {0, 20}, {0, 20}};
  CHECK(scenarios::on_frontier(all) == std::vector<bool>{true, true, true, true, true});
}

TEST_CASE("the frontier is the undominated set") {
  CHECK(rc::check("against every pair", [] {
    std::vector<scenarios::Figures> all;
    // Few values, so that many are equal in one figure or in both.
    for (int n = *rc::gen::inRange(0, 30); n > 0; --n)
      all.push_back({static_cast<double>(*rc::gen::inRange(0, 8)), static_cast<double>(*rc::gen::inRange(0, 8))});
    const std::vector<bool> on = scenarios::on_frontier(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool dominated = std::ranges::any_of(
          all, [&](const scenarios::Figures& f) { return f.cost <= all[i].cost && f.time <= all[i].time && f != all[i]; });
      RC_ASSERT(on[i] == !dominated);
    }
  }));
}
