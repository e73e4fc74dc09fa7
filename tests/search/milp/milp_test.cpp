// Mixed-integer models by CBC: small ones by hand, and limits that hold.
#include "tests/oracles/milp.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/random.hpp"
#include "tests/about.hpp"

namespace {

// Columns that are 0 or 1, of these gains and weights: the most gain in a limited weight.
oracles::MilpModel knapsack(const std::vector<double>& gains, const std::vector<double>& weights, double most) {
  oracles::MilpModel p;
  oracles::MilpRow row{.terms = {}, .most = most};
  for (std::size_t i = 0; i < gains.size(); ++i) row.terms.push_back({p.add({.cost = -gains[i], .is_whole = true, .most = 1}), weights[i]});
  p.rows = {row};
  return p;
}

}  // namespace

TEST_CASE("a knapsack of three things") {
  // 60 for 10, 100 for 20, 120 for 30, and room for 50: the last two, though the first gains most for its weight.
  const oracles::MilpModel p = knapsack({60, 100, 120}, {10, 20, 30}, 50);
  const oracles::MilpAnswer a = oracles::solve_by_cbc(p, {});
  CHECK(a.status == oracles::MilpStatus::optimal);
  REQUIRE(a.values.size() == 3);
  CHECK(oracles::objective_of(p, a.values) == test::about(-220));
  CHECK(a.bound == test::about(-220));
  // A start that is the best already, and one that is not.
  CHECK(oracles::objective_of(p, oracles::solve_by_cbc(p, {0, 1, 1}).values) == test::about(-220));
  CHECK(oracles::objective_of(p, oracles::solve_by_cbc(p, {1, 1, 0}).values) == test::about(-220));
}

TEST_CASE("nothing is below the cutoff, or holds at all") {
  oracles::MilpModel p = knapsack({60, 100, 120}, {10, 20, 30}, 50);
  oracles::MilpLimits below;
  below.cutoff = -219;
  CHECK(oracles::solve_by_cbc(p, {}, below).status == oracles::MilpStatus::optimal);
  below.cutoff = -221;
  CHECK(oracles::solve_by_cbc(p, {}, below).status == oracles::MilpStatus::infeasible);
  p.rows.push_back({.terms = {{0}, {1}, {2}}, .least = 2.5, .most = 3});
  CHECK(oracles::solve_by_cbc(p, {}).status == oracles::MilpStatus::infeasible);
  p.rows.back() = {.terms = {}, .least = 1};
  CHECK(oracles::solve_by_cbc(p, {}).status == oracles::MilpStatus::infeasible);
}

TEST_CASE("columns that are not whole, and a free one") {
  // x + y >= 2.5 with whole x of 3 each and y of 4 each, y at most 1: two x and half a y, 8; three x are 9.
  oracles::MilpModel p;
  const std::size_t x = p.add({.cost = 3, .is_whole = true}), y = p.add({.cost = 4, .most = 1});
  const std::size_t free = p.add({.cost = 1, .least = -1e9});
  p.rows = {{.terms = {{x}, {y}}, .least = 2.5}, {.terms = {{free}, {x, 1}}, .least = -4}};  // free >= -4 - x
  // A further x lets the free column fall by 1: x of 3 - 1 is still dearer than none. 2 x 2 + 2 - 4 = 2; three x: 3 x 2 - 4 = 2; with y no
  // whole x less than 2.
  const oracles::MilpAnswer a = oracles::solve_by_cbc(p, {});
  CHECK(a.status == oracles::MilpStatus::optimal);
  CHECK(oracles::objective_of(p, a.values) == test::about(2));
}

TEST_CASE("what takes long ends at its limit, with the best so far") {
  // A market split (Cornuejols and Dawande, IPCO'98): 40 columns of 0 or 1 halve each of five random sums; hours of branching. Slack is
  // paid for.
  base::Random random(1);
  oracles::MilpModel p;
  constexpr std::size_t kSums = 5, kColumns = 40;
  for (std::size_t c = 0; c < kColumns; ++c) (void)p.add({.is_whole = true, .most = 1});
  std::vector<double> start(kColumns, 0.0);
  for (std::size_t r = 0; r < kSums; ++r) {
    oracles::MilpRow row;
    double sum = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      row.terms.push_back({c, static_cast<double>(random.below(100))});
      sum += row.terms.back().factor;
    }
    row.terms.push_back({p.add({.cost = 1}), 1});
    row.terms.push_back({p.add({.cost = 1}), -1});
    row.least = row.most = std::floor(sum / 2);
    start.insert(start.end(), {row.least, 0});
    p.rows.push_back(std::move(row));
  }
  REQUIRE(oracles::is_solution(p, start));
  const oracles::MilpAnswer a = oracles::solve_by_cbc(p, start, {.nodes = 500});
  CHECK(a.status == oracles::MilpStatus::feasible);
  CHECK(oracles::objective_of(p, a.values) < oracles::objective_of(p, start));
  CHECK(a.bound < oracles::objective_of(p, a.values));
}
