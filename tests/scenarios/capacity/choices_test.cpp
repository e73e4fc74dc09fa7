#include "scenarios/capacity/result.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "made_cases.hpp"
#include "tests/about.hpp"

using base::Dollars;
using base::Seconds;

namespace {

struct Answer {
  scenarios::CapacityTerms terms;
  std::vector<scenarios::CapacityEntry> entries;
  scenarios::Choices choices;
};

Answer answer_to(scenarios::CapacityTerms terms, const std::vector<scenarios::CapacityCase>& cases) {
  auto entries = scenarios::capacity_entries(terms, cases);
  auto choices = scenarios::capacity_choices(terms, entries);
  return {std::move(terms), std::move(entries), std::move(choices)};
}

// "fast" on 1, 2, 4 nodes: 4, 2.1, 1.1 s; "cheap": 8, 4.1, 2.1 s. 1.8e6 tokens: 1800 iterations of a second each, so that an iteration
// of a second is half an hour.
const std::vector<scenarios::CapacityCase> kCases = {test::made_case(0, 1, 4), test::made_case(0, 2, 2.1), test::made_case(0, 4, 1.1),
                                                     test::made_case(1, 1, 8), test::made_case(1, 2, 4.1), test::made_case(1, 4, 2.1)};

}  // namespace

TEST_CASE("the smallest and the cheapest that meet the deadline, the quickest within the budget") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e6);
  terms.deadline = Seconds(1.25 * 3600);  // 2.5 s an iteration; surely: 1.66 s
  terms.budget = Dollars(34);             // hours x GPUs x price: 32, 33.6, 35.2; 32, 32.8, 33.6
  const scenarios::Choices c = answer_to(terms, kCases).choices;
  CHECK(c.smallest == std::optional<std::size_t>(1));         // 16 GPUs in 2.1 s
  CHECK(c.smallest_surely == std::optional<std::size_t>(2));  // 32 in 1.1 s
  CHECK(c.cheapest == std::optional<std::size_t>(1));         // 33.6 USD as well as the last, and before it
  CHECK(c.quickest == std::optional<std::size_t>(1));
}

TEST_CASE("without limits everything meets them; with strict ones nothing does") {
  const scenarios::Choices free = answer_to(test::made_terms(1.8e6), kCases).choices;
  CHECK(free.smallest == std::optional<std::size_t>(0));
  CHECK(free.smallest_surely == std::optional<std::size_t>(0));
  CHECK(free.cheapest == std::optional<std::size_t>(0));
  CHECK(free.quickest == std::optional<std::size_t>(2));
  scenarios::CapacityTerms strict = test::made_terms(1.8e6);
  strict.deadline = Seconds(1);
  strict.budget = Dollars(1);
  const scenarios::Choices none = answer_to(strict, kCases).choices;
  CHECK_FALSE(none.smallest);
  CHECK_FALSE(none.cheapest);
  CHECK_FALSE(none.quickest);
  CHECK(none.break_evens.empty());
}

TEST_CASE("at the break-even price the cheapest of both cost the same") {
  const Answer a = answer_to(test::made_terms(1.8e6), kCases);
  REQUIRE(a.choices.break_evens.size() == 2);
  // Both cost 32 USD at best: 16 GPU hours of one, 32 of the other.
  CHECK(a.choices.break_evens[0].candidate == 0);
  CHECK(a.choices.break_evens[0].price.value() == test::about(2));
  CHECK(a.choices.break_evens[1].price.value() == test::about(1));
}

TEST_CASE("owned nodes have no price to vary, and what they cost already leaves less for rent") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e6);
  terms.candidates[1].owned = {.nodes = 1, .capex = {}, .years = 1, .utilisation = 1, .operations = {Dollars(8760), scenarios::Per::node}};
  std::vector<scenarios::CapacityCase> cases = {kCases[0], kCases[3], kCases[4]};
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    cases[i].fleet.owned_nodes = 1;
    cases[i].fleet.owned_gpus = 8;
  }
  const Answer a = answer_to(terms, cases);
  // The owned node: 4 h at 1 USD. Two nodes: 2.05 h at 1 USD, and 8 rented GPUs for 2.05 h.
  CHECK(a.entries[1].outcome->costs->total().value() == test::about(4));
  CHECK(a.entries[2].outcome->costs->total().value() == test::about(2.05 + 16.4));
  REQUIRE(a.choices.break_evens.size() == 2);
  CHECK(a.choices.break_evens[0].price.value() == test::about(4.0 / 16));            // renting the fast one instead
  CHECK(a.choices.break_evens[1].price.value() == test::about((32 - 2.05) / 16.4));  // what a second node may cost
  CHECK(a.choices.break_evens[1].entry == 2);
}

TEST_CASE("a candidate without a price has the price that it may have") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e6);
  terms.candidates[0].price = {};
  const Answer a = answer_to(terms, kCases);
  REQUIRE(a.choices.break_evens.size() == 1);
  CHECK(a.choices.break_evens[0].candidate == 0);
  CHECK(a.choices.break_evens[0].price.value() == test::about(2));
}

TEST_CASE("with the break-even price as its price a candidate's cheapest costs what the other's does") {
  CHECK(rc::check("against the costs at that price", [] {
    scenarios::CapacityTerms terms = test::made_terms(1.8e6);
    if (*rc::gen::arbitrary<bool>()) terms.deadline = Seconds(*rc::gen::inRange(900, 20000));
    const int owned = *rc::gen::inRange(0, 3);
    if (owned > 0)
      terms.candidates[0].owned = {.nodes = owned, .years = 1, .operations = {Dollars(*rc::gen::inRange(0, 40000)), scenarios::Per::node}};
    std::vector<scenarios::CapacityCase> cases;
    for (int n = *rc::gen::inRange(2, 9); n > 0; --n) {
      cases.push_back(test::made_case(*rc::gen::inRange<std::size_t>(0, 2), *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 100) / 10.0));
      scenarios::Fleet& f = cases.back().fleet;
      if (cases.back().candidate == 0) f.owned_nodes = std::min(owned, f.nodes);
      f.owned_gpus = 8 * f.owned_nodes;
    }
    for (const scenarios::BreakEven& b : answer_to(terms, cases).choices.break_evens) {
      scenarios::CapacityTerms at_price = terms;
      at_price.candidates[b.candidate].price = {b.price, scenarios::Per::gpu};
      const Answer again = answer_to(at_price, cases);
      double cheapest[2] = {1e300, 1e300};
      for (const scenarios::CapacityEntry& e : again.entries)
        if (e.asked.fleet.rented_nodes() > 0 || e.asked.candidate == b.against)
          if (!e.outcome->deadline || meets(*e.outcome->deadline))
            cheapest[e.asked.candidate] = std::min(cheapest[e.asked.candidate], e.outcome->costs->total().value());
      RC_ASSERT(std::abs(cheapest[0] / cheapest[1] - 1) < 1e-9);
    }
  }));
}
