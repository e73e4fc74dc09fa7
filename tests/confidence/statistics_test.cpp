#include "scenarios/confidence/statistics.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

using namespace confidence;

TEST_CASE("errors by hand: 10 % too long, 10 % too short, right, twice too long") {
  const std::vector<Pair> pairs{{1, 1.1}, {2, 1.8}, {3, 3}, {4, 8}};
  const ErrorStatistics e = error_statistics(pairs);
  CHECK(e.n == 4);
  CHECK(e.mean == test::about((0.1 + 0.1 + 0 + 1) / 4));
  CHECK(e.median == test::about(0.1));
  CHECK(e.bias == test::about(std::pow(1.1 * 0.9 * 1 * 2, 0.25) - 1));
  CHECK(e.tau == 1);
}

TEST_CASE("bias: twice as long and half as long cancel") {
  CHECK(error_statistics(std::vector<Pair>{{1, 2}, {1, 0.5}}).bias == test::about(0));
}

TEST_CASE("Kendall's tau: five of six pairs in order, ties count for neither") {
  // Only (3, 4) are swapped: 5 in order, 1 not.
  CHECK(order_of(std::vector<Pair>{{1, 1}, {2, 2}, {3, 4}, {4, 3}}).tau() == test::about(4.0 / 6));
  // Two equal measured values: that pair says nothing.
  CHECK(order_of(std::vector<Pair>{{1, 1}, {1, 5}, {2, 6}}).tau() == 1);
  CHECK(order_of(std::vector<Pair>{{1, 1}}).tau() == 0);
}

TEST_CASE("medians") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}

TEST_CASE("perfect forecasts have no error, and tau does not depend on scale") {
  CHECK(rc::check([] {
    std::vector<Pair> pairs;
    for (const int x : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000))) pairs.push_back({x / 10.0, x / 10.0});
    const ErrorStatistics e = error_statistics(pairs);
    RC_ASSERT(e.mean == 0 && e.bias == 0);
    for (Pair& p : pairs) p.predicted *= 3;
    RC_ASSERT(order_of(pairs).tau() == e.tau);
  }));
}

TEST_CASE("measured values count as apart where one is more than so much larger") {
  const std::vector<Pair> pairs{{1, 1}, {2, 2}};  // twice: by 100 %
  CHECK(order_of(pairs, 1).same == 0);
  CHECK(order_of(pairs, 0.99).same == 1);
}
