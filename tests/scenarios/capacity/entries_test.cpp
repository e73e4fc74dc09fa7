#include "scenarios/capacity/entries.hpp"

#include <doctest/doctest.h>

#include "made_cases.hpp"
#include "tests/about.hpp"

using base::Dollars;
using base::Seconds;
using scenarios::Chance;

TEST_CASE("time is work over speed, and cost and energy go with it") {
  // 8 GPUs, 100 samples of 10 tokens in 2 s: 500 tokens/s. 1.8e6 tokens take 3600 s; 8 GPU hours at 2 USD; 1 kW x PUE 2 for an hour.
  const auto e = scenarios::capacity_entries(test::made_terms(1.8e6), std::vector{test::made_case(0, 1, 2)});
  REQUIRE(e.size() == 1);
  REQUIRE(e[0].outcome);
  const scenarios::Outcome& o = *e[0].outcome;
  CHECK(o.goodput == 1);
  CHECK_FALSE(o.losses);
  CHECK(o.time.value() == test::about(3600));
  CHECK(o.time_low.value() == test::about(0.75 * 3600));
  CHECK(o.time_high.value() == test::about(1.5 * 3600));
  CHECK(o.costs->total().value() == test::about(16));
  CHECK(o.cost_low().value() == test::about(12));
  CHECK(o.cost_high().value() == test::about(24));
  CHECK(o.energy->value() == test::about(7.2e6));
  CHECK(o.on_frontier == true);
  CHECK_FALSE(o.deadline);
  CHECK_FALSE(o.budget);
}

TEST_CASE("samples and iterations are other ways to say how much") {
  scenarios::CapacityTerms terms = test::made_terms(180000);
  terms.work.unit = scenarios::Work::Unit::samples;
  CHECK(scenarios::capacity_entries(terms, std::vector{test::made_case(0, 1, 2)})[0].outcome->time.value() == test::about(3600));
  terms.work = {scenarios::Work::Unit::iterations, 1800};
  CHECK(scenarios::capacity_entries(terms, std::vector{test::made_case(0, 1, 2)})[0].outcome->time.value() == test::about(3600));
}

TEST_CASE("limits are met surely, probably, hardly or not") {
  const auto deadline = [](double hours) {
    scenarios::CapacityTerms terms = test::made_terms(1.8e6);
    terms.deadline = Seconds(3600 * hours);
    terms.budget = Dollars(16 * hours);
    const auto e = scenarios::capacity_entries(terms, std::vector{test::made_case(0, 1, 2)});
    CHECK(e[0].outcome->budget == e[0].outcome->deadline);
    return *e[0].outcome->deadline;
  };
  CHECK(deadline(1.51) == Chance::surely);
  CHECK(deadline(1.01) == Chance::probably);
  CHECK(deadline(0.99) == Chance::unlikely);
  CHECK(deadline(0.74) == Chance::no);
  CHECK((meets(Chance::surely) && meets(Chance::probably) && !meets(Chance::unlikely) && !meets(Chance::no)));
}

TEST_CASE("failures of the GPUs in use and checkpoints of the states stretch the time") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e8);  // 100 h
  terms.reliability = {.mtbf_per_gpu = Seconds(80000),
                       .restart = Seconds(100),
                       .checkpoints = {.size = {}, .bandwidth = {base::BytesPerSecond(1e9), scenarios::Per::node}, .interval = {}}};
  scenarios::CapacityCase c = test::made_case(0, 2, 2);
  const auto o = scenarios::capacity_entries(terms, std::vector{c})[0].outcome;
  REQUIRE(o);
  REQUIRE(o->losses);
  // 16 GPUs fail every 5000 s; 100 GB go to 2 nodes' share of the store, 2 GB/s.
  CHECK(o->losses->mtbf.value() == 5000);
  CHECK(o->losses->checkpoint.value() == 50);
  const scenarios::FailureTimes times{Seconds(5000), Seconds(50), Seconds(100)};
  CHECK(o->losses->interval == checkpoint_interval(times));
  CHECK(o->goodput == goodput(times, checkpoint_interval(times)));
  CHECK(o->time.value() == test::about(360000 / o->goodput));
  CHECK(o->losses->failures == test::about(o->time.value() / 5000));

  terms.reliability->checkpoints.size = base::Bytes(10e9);
  terms.reliability->checkpoints.interval = Seconds(400);
  terms.reliability->checkpoints.bandwidth = {base::BytesPerSecond(1e9), scenarios::Per::all};
  CHECK(scenarios::capacity_entries(terms, std::vector{c})[0].outcome->goodput ==
        scenarios::goodput({Seconds(5000), Seconds(10), Seconds(100)}, Seconds(400)));

  terms.reliability->checkpoints.interval = Seconds(1);  // less than an iteration
  CHECK(scenarios::capacity_entries(terms, std::vector{c})[0].outcome->losses->interval.value() == 2);
  terms.reliability->checkpoints.interval.reset();

  terms.work.amount = 500 * 100;  // 100 s: one checkpoint, at the end
  CHECK(scenarios::capacity_entries(terms, std::vector{c})[0].outcome->losses->interval.value() == test::about(100));
}

TEST_CASE("what cannot train, or would never end, has no figures") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e8);
  scenarios::CapacityCase no_plan = test::made_case(0, 1, 2);
  no_plan.forecast.reset();
  CHECK_FALSE(scenarios::capacity_entries(terms, std::vector{no_plan})[0].outcome);
  terms.reliability = {.mtbf_per_gpu = Seconds(8),
                       .restart = Seconds(3600),
                       .checkpoints = {.size = {}, .bandwidth = {base::BytesPerSecond(1), scenarios::Per::all}, .interval = {}}};
  CHECK_FALSE(scenarios::capacity_entries(terms, std::vector{test::made_case(0, 1, 2)})[0].outcome);
}

TEST_CASE("what has no price is on no frontier") {
  scenarios::CapacityTerms terms = test::made_terms(1.8e6);
  terms.candidates[1].price = {};
  const auto e =
      scenarios::capacity_entries(terms, std::vector{test::made_case(0, 1, 2), test::made_case(1, 1, 1), test::made_case(0, 2, 2)});
  CHECK(e[0].outcome->on_frontier == true);
  CHECK_FALSE(e[1].outcome->on_frontier);
  CHECK_FALSE(e[1].outcome->costs);
  CHECK(e[2].outcome->on_frontier == false);  // twice the nodes, no quicker
}
