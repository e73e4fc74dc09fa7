#include "scenarios/confidence/assessment.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace confidence;

namespace {

Item item_of(const std::string& group, double measured, double predicted) {
  Item i;
  i.group = group;
  i.id = group + std::to_string(measured);
  i.where = "p.csv:2";
  i.measured = base::Seconds(measured);
  i.predicted = base::Seconds(predicted);
  i.interval = std::pair(base::Seconds(0.9 * predicted), base::Seconds(1.2 * predicted));
  return i;
}

Item failed(const std::string& group) {
  Item i = item_of(group, 1, 1);
  i.interval.reset();
  i.failure = "does not divide";
  return i;
}

std::string refused(const std::string& text) {
  try {
    (void)read_limit(text);
  } catch (const base::InputError& e) { return e.diagnostics()[0].message; }
  return {};
}

}  // namespace

TEST_CASE("groups keep their order, failed points are counted and lead the worst cases") {
  // b: 10 % and 50 % off, one failed. Of three points two are inside [0.9, 1.2] x predicted: 1 in [0.99, 1.32], 2 not in [0.9, 1.2].
  const Assessment a = assess({item_of("b", 1, 1.1), item_of("a", 1, 1), item_of("b", 2, 1), failed("b")}, std::nullopt, {});
  REQUIRE(a.groups.size() == 2);
  const GroupAssessment& b = a.groups[0];
  CHECK(b.name == "b");
  CHECK(b.points == 3);
  CHECK(b.failed == 1);
  CHECK(b.time.n == 2);
  CHECK(b.time.mean == test::about(0.3));
  CHECK(*b.coverage == test::about(1.0 / 3));
  CHECK(*b.interval_width == test::about(0.3));
  CHECK(b.worst == std::vector<std::size_t>{3, 2, 0});
}

TEST_CASE("peak memory is assessed where it was measured") {
  Item with = item_of("g", 1, 1);
  with.peak_bytes = Pair{10e9, 11e9};
  const Assessment a = assess({with, item_of("g", 2, 2)}, std::nullopt, {});
  CHECK(a.groups[0].peak->n == 1);
  CHECK(a.groups[0].peak->mean == test::about(0.1));
}

TEST_CASE("points that tell of memory alone are a subject of their own, without times") {
  Item memory = item_of("g", 1, 1);
  memory.subject = Subject::memory;
  memory.measured = memory.predicted = base::Seconds(0);
  memory.interval.reset();
  memory.reserved_bytes = Pair{10e9, 9e9};
  Item worse = memory;
  worse.reserved_bytes = Pair{10e9, 12e9};
  const Assessment a = assess({memory, worse, item_of("g", 2, 2)}, std::nullopt, {});
  REQUIRE(a.groups.size() == 2);
  CHECK(a.groups[0].subject == Subject::iteration);
  CHECK(a.groups[1].subject == Subject::memory);
  CHECK(a.groups[1].time.n == 0);
  CHECK(!a.groups[1].peak);
  CHECK(a.groups[1].reserved->mean == test::about(0.15));
  CHECK(a.groups[1].worst == std::vector<std::size_t>{1, 0});
}

TEST_CASE("limits are read with their unit") {
  const Limit plain = read_limit("vtrain=7%");
  CHECK(plain.group == "vtrain");
  CHECK(plain.figure == Limit::Figure::error);
  CHECK(plain.value == test::about(0.07));
  CHECK(read_limit("mpt-*:tau=0.85").figure == Limit::Figure::tau);
  CHECK(read_limit("g:coverage=85%").value == test::about(0.85));
  CHECK(refused("vtrain") == "\"vtrain\" names no group and value");
  CHECK(refused("vtrain=7") == "\"7\" has no unit");
  CHECK(refused("vtrain=much%") == "\"much%\" is no number");
  CHECK(refused("vtrain=nan%") == "\"nan%\" is no number");
  CHECK(refused("vtrain:speed=1%") == "unknown figure \"speed\"");
}

TEST_CASE("missed limits: by error, by a failed point, by prefix") {
  const Assessment a = assess({item_of("mpt-a", 1, 1.1), item_of("mpt-b", 1, 1.01), failed("x")}, std::nullopt, {});
  CHECK(missed(a, {read_limit("mpt-a=11%")}).empty());
  CHECK(missed(a, {read_limit("mpt-a=9%")}) == std::vector<std::string>{"mpt-a: error is 0.1, at most 0.09 was asked for"});
  CHECK(missed(a, {read_limit("mpt-*=9%")}).size() == 1);
  CHECK(missed(a, {read_limit("x=99%")}) == std::vector<std::string>{"x: 1 of 1 points have no forecast"});
  CHECK(missed(a, {read_limit("mpt-a:peak=9%")}) == std::vector<std::string>{"mpt-a: has no peak"});
  CHECK_THROWS_AS((void)missed(a, {read_limit("mpt=9%")}), base::InputError);
}

namespace {

Item known(const std::string& group, double measured, double predicted, IterationFacts facts) {
  Item i = item_of(group, measured, predicted);
  i.facts = std::move(facts);
  return i;
}

IterationFacts facts_of(double at_peak, const char* machine, const char* family, const char* question, const char* plan = "") {
  return {base::Seconds(at_peak), machine, "half", family, question, plan};
}

}  // namespace

TEST_CASE("a closed formula knows the share of peak of the rows that remain") {
  // Shares of peak: a 1/2 and 1/8 (on x), b 1/4 (on y). Without a, b's 1/4 remains: 4 s for each second at peak.
  const Assessment a = assess({known("a", 2, 2, facts_of(1, "x", "gpt", "p")), known("a", 8, 8, facts_of(1, "x", "moe", "p")),
                               known("b", 4, 4, facts_of(1, "y", "gpt", "q"))},
                              std::nullopt, {});
  CHECK(*a.groups[0].formula_error == test::about((4.0 / 2 - 1 + 1 - 4.0 / 8) / 2));
  // The median of 1/2 and 1/8 is 5/16: 3.2 s in place of 4.
  CHECK(*a.groups[1].formula_error == test::about(0.2));
}

TEST_CASE("runs that are their host's do not speak for a closed formula's peak") {
  const Assessment r = assess({known("a", 4, 4, facts_of(1, "x", "gpt", "p")), known("b", 2, 2, facts_of(1, "y", "gpt", "q")),
                               known("c", 1000, 1000, facts_of(1, "y", "gpt", "r"))},
                              std::nullopt, {});
  // Without b, c's 1/1000 alone remains on that machine, so that all groups speak: the median of 1/4 and 1/1000, not 1000 s for each second
  // at peak.
  CHECK(*r.groups[1].formula_error == test::about(1 / ((0.25 + 0.001) / 2) / 2 - 1));
  // Without a, b's 1/2 and c's have their median on y.
  CHECK(*r.groups[0].formula_error == test::about(1 - 1 / ((0.5 + 0.001) / 2) / 4));
}

TEST_CASE("regret is what the forecast's favourite costs over the best plan of its question") {
  // Question p: the favourite is the second plan, 5 s against 4 s; q: the favourite is the best; r has one plan.
  const auto of = [](const char* question, const char* plan) { return facts_of(1, "x", "gpt", question, plan); };
  const Assessment a = assess({known("a", 4, 4, of("p", "1")), known("a", 5, 3, of("p", "2")), known("a", 1, 1, of("q", "1")),
                               known("a", 2, 3, of("q", "2")), known("a", 9, 9, of("r", "1")), item_of("b", 1, 1)},
                              std::nullopt, {});
  REQUIRE(a.groups[0].choices);
  CHECK(a.groups[0].choices->questions == 2);
  CHECK(a.groups[0].choices->regret == test::about(0.125));
  CHECK(a.groups[0].choices->tau == test::about(0));
  CHECK_FALSE(a.groups[1].choices);
  CHECK_FALSE(a.groups[1].formula_error);
}

TEST_CASE("a plan that was measured several times is one plan, with the median") {
  const auto of = [](const char* question, const char* plan) { return facts_of(1, "x", "gpt", question, plan); };
  // Plan 1 of question p ran three times, 4 s in the median; plan 2 is the favourite, 5 s: 5/4 - 1. Question q has one plan.
  const Assessment a = assess({known("a", 2, 6, of("p", "1")), known("a", 4, 6, of("p", "1")), known("a", 9, 6, of("p", "1")),
                               known("a", 5, 3, of("p", "2")), known("a", 1, 1, of("q", "1")), known("a", 2, 1, of("q", "1"))},
                              std::nullopt, {});
  REQUIRE(a.groups[0].choices);
  CHECK(a.groups[0].choices->questions == 1);
  CHECK(a.groups[0].choices->regret == test::about(0.25));
  CHECK(a.groups[0].choices->tau == test::about(-1));
}

TEST_CASE("plans that a second measurement may swap have no order to forecast") {
  // Forecasts swap plans 1 and 2, 4 % apart, and have both before plan 3: 3 pairs, one of them wrong, and the two that are apart.
  const auto of = [](const char* plan) { return facts_of(1, "x", "gpt", "p", plan); };
  const std::vector<Item> close = {known("a", 4, 5, of("1")), known("a", 4.16, 4, of("2"))};
  std::vector<Item> all = close;
  all.push_back(known("a", 8, 7, of("3")));
  const Assessment a = assess(all, std::nullopt, {});
  CHECK(a.groups[0].choices->tau == test::about(1.0 / 3));
  REQUIRE(a.groups[0].choices->tau_apart);
  CHECK(*a.groups[0].choices->tau_apart == 1);
  CHECK_FALSE(assess(close, std::nullopt, {}).groups[0].choices->tau_apart);
}

TEST_CASE("runs of one plan that scatter bound how well anybody can order plans") {
  const auto of = [](const char* plan) { return facts_of(1, "x", "gpt", "p", plan); };
  // Plan 1 took e and 1/e times 4 s, twice each, so that its logarithms lie 1 from their mean: a variance of 4 / 3 by three runs more. With
  // plan 2, which ran twice and did not scatter, it is 4 / 4.
  const double e = std::exp(1);
  std::vector<Item> runs = {known("a", 4 * e, 5, of("1")), known("a", 4 * e, 5, of("1")), known("a", 4 / e, 5, of("1")),
                            known("a", 4 / e, 5, of("1"))};
  CHECK_FALSE(assess(runs, std::nullopt, {}).groups[0].repeats);  // three are too few
  runs.push_back(known("a", 8, 7, of("2")));
  runs.push_back(known("a", 8, 7, of("2")));
  const Assessment a = assess(runs, std::nullopt, {});
  REQUIRE(a.groups[0].repeats);
  CHECK(a.groups[0].repeats->runs == 4);
  CHECK(a.groups[0].repeats->scatter == test::about(1));
}

TEST_CASE("where forecasts are equal, the favourite is any of them") {
  const auto of = [](const char* plan) { return facts_of(1, "x", "gpt", "p", plan); };
  const Assessment a = assess({known("a", 4, 3, of("1")), known("a", 6, 3, of("2")), known("a", 8, 5, of("3"))}, std::nullopt, {});
  CHECK(a.groups[0].choices->regret == test::about(0.25));  // 5 s on average against 4 s
}
