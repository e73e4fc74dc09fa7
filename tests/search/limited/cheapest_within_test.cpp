// The cheapest choices within a limit of bytes, against all choices one by one.
#include "search/solve/memory_constrained/cheapest_within.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "random_choices.hpp"

namespace {

constexpr double kNoChoice = std::numeric_limits<double>::infinity();
const search::SearchContext kClockless;
const search::Budget kNoHurry(kClockless, base::Seconds(60));

double least_within(const search::ConstrainedProblem& p, std::vector<std::uint32_t>& choice) {
  if (choice.size() == p.bytes.size()) return search::fits(p, choice) ? search::cost_of(p.choices, choice) : kNoChoice;
  double least = kNoChoice;
  for (std::uint32_t c = 0; c < p.bytes[choice.size()].size(); ++c) {
    choice.push_back(c);
    least = std::min(least, least_within(p, choice));
    choice.pop_back();
  }
  return least;
}

double least_within(const search::ConstrainedProblem& p) {
  std::vector<std::uint32_t> none;
  return least_within(p, none);
}

}  // namespace

TEST_CASE("choices within a limit of bytes are the cheapest of all that fit") {
  // By fronts; where no label is allowed, or no table, by the bound and what fits at its multiplier, which may leave a gap.
  for (const search::ConstrainedEffort& effort : {search::ConstrainedEffort{}, {.most_pairs = 0}, {.most_entries = 0}})
    CHECK(rc::check([&] {
      const search::ConstrainedProblem p = test::random_limited();
      const double least = least_within(p);
      const search::ConstrainedChoice found = search::cheapest_within(p, {}, kNoHurry, effort);
      const bool is_whole = effort.most_entries > 0 && effort.most_pairs > 0;
      RC_ASSERT(found.is_optimal || !is_whole);
      RC_ASSERT(found.fits == (least < kNoChoice));
      RC_ASSERT(search::fits(p, found.choice) == found.fits);
      if (!found.fits) {
        RC_ASSERT(search::bytes_of(p, found.choice) == search::least_bytes(p));
        return;
      }
      RC_ASSERT(found.seconds == search::cost_of(p.choices, found.choice));
      RC_ASSERT(found.seconds >= least * (1 - 1e-12));
      RC_ASSERT(!found.is_optimal || found.seconds <= least * (1 + 1e-6));
      RC_ASSERT(found.bound <= least * (1 + 1e-6));
    }));
}

TEST_CASE("costs that are found out on the way count") {
  CHECK(rc::check([] {
    const search::ConstrainedProblem truth = test::random_limited();
    // What pairs cost at least is known at first: half of it, or nothing.
    search::ConstrainedProblem p = truth;
    std::vector<std::shared_ptr<search::PairCosts>> known;
    for (search::ChoiceProblem::Pair& pair : p.choices.pairs) {
      known.push_back(std::make_shared<search::PairCosts>(*pair.costs));
      for (double& s : known.back()->seconds) s *= test::some(0, 1) / 2.0;
      pair.costs = known.back();
    }
    const auto resolve = [&](const std::vector<std::uint32_t>& choice) {
      bool is_new = false;
      for (std::size_t i = 0; i < known.size(); ++i) {
        const search::ChoiceProblem::Pair& pair = truth.choices.pairs[i];
        const std::size_t at = choice[pair.first] * pair.costs->columns + choice[pair.second];
        is_new = is_new || known[i]->seconds[at] < pair.costs->seconds[at];
        known[i]->seconds[at] = pair.costs->seconds[at];
      }
      return is_new;
    };
    const double least = least_within(truth);
    const search::ConstrainedChoice found = search::cheapest_within(p, resolve, kNoHurry);
    RC_ASSERT(found.is_optimal);
    RC_ASSERT(found.fits == (least < kNoChoice));
    if (!found.fits) return;
    RC_ASSERT(std::abs(search::cost_of(truth.choices, found.choice) - least) <= 1e-6 * least);
    RC_ASSERT(found.bound <= least * (1 + 1e-6));
  }));
}

TEST_CASE("tables kept forwards and back know the cheapest answer with each choice") {
  CHECK(rc::check([] {
    const search::ConstrainedProblem p = test::random_limited();
    search::BucketTree tree(p.choices);
    tree.go_up();
    tree.go_down();
    RC_ASSERT(std::abs(tree.cheapest() - least_within({p.choices, p.bytes, kNoChoice})) <= 1e-9 * tree.cheapest());
    const auto with = tree.with_choice();
    for (std::size_t o = 0; o < with.size(); ++o)
      for (std::size_t c = 0; c < with[o].size(); ++c) {
        search::ConstrainedProblem only = p;
        only.limit = kNoChoice;
        for (std::size_t x = 0; x < with[o].size(); ++x)
          if (x != c) only.choices.costs[o][x] += 1e6;
        RC_ASSERT(std::abs(with[o][c] - least_within(only)) <= 1e-9 * (1 + with[o][c]));
      }
  }));
}

TEST_CASE("three operators within a limit, by hand") {
  // Ways of 1 s and 6 bytes or 4 s and 2 bytes; neighbours in unlike ways take 1 s more. Without a limit 3 s and 18 bytes. In 14 bytes two
  // of them may be quick: 1 + 1 + 4 + 1 s where the slow one is at an end. A price of bytes has only 3 s or 12 s to choose between.
  const auto change = std::make_shared<search::PairCosts>(search::PairCosts{2, 2, {0, 1, 1, 0}});
  search::ConstrainedProblem p{
      .choices = {{{1, 4}, {1, 4}, {1, 4}}, {{0, 1, change}, {1, 2, change}}}, .bytes = {{6, 2}, {6, 2}, {6, 2}}, .limit = 14};
  const search::ConstrainedChoice found = search::cheapest_within(p, {}, kNoHurry);
  CHECK(found.is_optimal);
  CHECK(found.seconds == 7);
  CHECK(found.choice[1] == 0);
  p.limit = 18;
  CHECK(search::cheapest_within(p, {}, kNoHurry).seconds == 3);
  // The leanest strategies take 6 bytes: one is lacking.
  p.limit = 5;
  const search::ConstrainedChoice none = search::cheapest_within(p, {}, kNoHurry);
  CHECK_FALSE(none.fits);
  CHECK(search::bytes_of(p, none.choice) - p.limit == 1);
}

TEST_CASE("when time is up there is the best so far, with a bound that holds") {
  bool is_over = false;
  search::SearchContext context;
  context.interrupted = [&] { return is_over; };
  const search::Budget budget(context, base::Seconds(60));
  CHECK(rc::check([&] {
    is_over = false;
    const search::ConstrainedProblem p = test::random_limited();
    const double least = least_within(p);
    int left = test::some(0, 12);
    const auto resolve = [&](const std::vector<std::uint32_t>&) {
      is_over = is_over || --left < 0;
      return false;
    };
    const search::ConstrainedChoice found = search::cheapest_within(p, resolve, budget);
    RC_ASSERT(found.bound <= least * (1 + 1e-6));
    if (found.choice.empty() || !found.fits) return;
    RC_ASSERT(search::fits(p, found.choice));
    RC_ASSERT(found.seconds >= least * (1 - 1e-6));
  }));
}
