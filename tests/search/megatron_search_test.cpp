#include <doctest/doctest.h>

#include "problem.hpp"

TEST_CASE("the search answers with what it simulated, and it is not worse than plain data parallelism on the same terms") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::MegatronSearchConfig config;
  config.simulate_best = 1000;  // the whole grid
  const search::SearchResult r = search::megatron_search(q.problem(), config);
  REQUIRE(r.best);
  CHECK(r.stop_reason == search::StopReason::complete);
  CHECK(pcg::violations(*r.best).empty());
  CHECK(*r.objective == q.oracle.plan(*r.best).iteration_time);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {})).iteration_time);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {.tensor = 2})).iteration_time);
  CHECK_FALSE(r.refusals.empty());
}

TEST_CASE("the same search gives the same plan") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const auto a = search::megatron_search(q.problem(), {}), b = search::megatron_search(q.problem(), {});
  CHECK(a.best == b.best);
  CHECK(a.notes == b.notes);
}

TEST_CASE("what fits nowhere is infeasible, and the nearest is named") {
  // 1.3e9 parameters of 16 bytes are 21 GB of model states on a GPU of 16 GiB.
  test::Question q("{builtin: gpt3-1.3b}", 1, 1, 1);
  q.training.precision = pcg::Precision::fp16;
  const search::SearchResult r = search::megatron_search(q.problem(), {});
  CHECK_FALSE(r.best);
  CHECK(r.stop_reason == search::StopReason::infeasible);
  REQUIRE(r.notes.size() == 1);
  CHECK(r.notes[0].starts_with(
      "nothing in the grid fits: the least is one device, recompute none, zero 0 (model states alone), which needs 19"));
}

TEST_CASE("a search without time says so") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::MegatronSearchConfig config;
  double ticks = 0;
  config.clock = [&] { return base::Seconds(ticks += 1); };
  config.budget = base::Seconds(3.5);  // the start takes the first tick: three points of the grid are looked at
  const search::SearchResult r = search::megatron_search(q.problem(), config);
  CHECK(r.stop_reason == search::StopReason::time_limit);
  REQUIRE_FALSE(r.notes.empty());
  CHECK(r.notes[0].starts_with("time was up after 3 of "));
}
