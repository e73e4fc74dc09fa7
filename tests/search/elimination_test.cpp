// The cheapest choices together, against all choices one by one.
#include "search/solve/operators/elimination.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "base/random.hpp"
#include "tests/about.hpp"

namespace {

search::ChoiceProblem random_choices(base::Random& random, std::size_t operators, std::size_t most_choices, std::uint64_t percent) {
  search::ChoiceProblem p;
  const auto seconds = [&] { return static_cast<double>(random.below(20)); };
  for (std::size_t o = 0; o < operators; ++o) {
    p.costs.emplace_back();
    const std::size_t choices = 1 + random.below(most_choices);
    for (std::size_t c = 0; c < choices; ++c) p.costs.back().push_back(seconds());
  }
  for (std::uint32_t a = 0; a < operators; ++a)
    for (std::uint32_t b = 0; b <= a; ++b) {
      if (random.below(100) >= percent) continue;
      search::PairCosts costs{p.costs[a].size(), p.costs[b].size(), {}};
      for (std::size_t i = 0; i < costs.rows * costs.columns; ++i) costs.seconds.push_back(seconds());
      p.pairs.push_back({a, b, std::make_shared<search::PairCosts>(costs)});
    }
  return p;
}

// Every answer, as an odometer.
double cheapest_of_all(const search::ChoiceProblem& p) {
  std::vector<std::uint32_t> choice(p.costs.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (bool more = true; more;) {
    best = std::min(best, search::cost_of(p, choice));
    more = false;
    for (std::size_t o = 0; o < choice.size() && !more; ++o) {
      more = ++choice[o] < p.costs[o].size();
      if (!more) choice[o] = 0;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("elimination finds what costs least of all answers, whatever hangs together") {
  base::Random random(7);
  for (int i = 0; i < 300; ++i) {
    const search::ChoiceProblem p = random_choices(random, 1 + random.below(6), 4, i % 2 == 0 ? 40 : 100);
    const search::Chosen chosen = search::cheapest(p);
    CHECK(chosen.is_optimal);
    CHECK(chosen.seconds == test::about(search::cost_of(p, chosen.choice)));
    CHECK(chosen.seconds == test::about(cheapest_of_all(p)));
  }
}

TEST_CASE("two chains that meet are decided by hand") {
  // Each of a, b, c, d runs in way 0 or 1. Way 1 saves a second on b and on c each; to change costs 3 s between neighbours; d has to be in
  // way 0, and a is free. In way 0 throughout: 1 + 1 = 2 s. To let b and c go way 1 and change twice, to d, costs 6 s.
  search::ChoiceProblem p;
  p.costs = {{0, 0}, {1, 0}, {1, 0}, {0, 100}};
  const auto change = std::make_shared<search::PairCosts>(search::PairCosts{2, 2, {0, 3, 3, 0}});
  p.pairs = {{0, 1, change}, {0, 2, change}, {1, 3, change}, {2, 3, change}};
  const search::Chosen chosen = search::cheapest(p);
  CHECK(chosen.seconds == 2);
  CHECK(chosen.choice == std::vector<std::uint32_t>{0, 0, 0, 0});
  // Where it saves 10 s each, the change is worth it, and `a` follows.
  p.costs = {{0, 0}, {10, 0}, {10, 0}, {0, 100}};
  CHECK(search::cheapest(p).seconds == 6);
  CHECK(search::cheapest(p).choice == std::vector<std::uint32_t>{1, 1, 1, 0});
}

TEST_CASE("a table that would be too large is made smaller, and it is said") {
  base::Random random(11);
  const search::ChoiceProblem p = random_choices(random, 6, 12, 100);
  const search::Chosen exact = search::cheapest(p), hurried = search::cheapest(p, 100);
  CHECK_FALSE(hurried.is_optimal);
  CHECK(hurried.seconds >= exact.seconds);
  CHECK(hurried.seconds == test::about(search::cost_of(p, hurried.choice)));
}

TEST_CASE("what all others cost at least is known for each choice of two operators, or of one") {
  base::Random random(5);
  for (int i = 0; i < 100; ++i) {
    const search::ChoiceProblem p = random_choices(random, 2 + random.below(4), 4, i % 2 == 0 ? 40 : 100);
    const auto count = static_cast<std::uint64_t>(p.costs.size());
    const auto first = static_cast<std::uint32_t>(random.below(count)), second = static_cast<std::uint32_t>(random.below(count));
    const search::PairCosts between = search::cheapest_between(p, first, second).costs;
    REQUIRE(between.rows == (first == second ? 1 : p.costs[first].size()));
    REQUIRE(between.columns == p.costs[second].size());
    for (std::uint32_t r = 0; r < between.rows; ++r)
      for (std::uint32_t c = 0; c < between.columns; ++c) {
        std::vector<search::Choices> left = search::all_choices(p);
        if (first != second) left[first] = {r};
        left[second] = {c};
        CHECK(between.at(r, c) == test::about(cheapest_of_all(search::restricted(p, left))));
      }
  }
}
