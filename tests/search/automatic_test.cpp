// Every planner, and the best of them.
#include "search/planners/automatic/automatic.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "problem.hpp"
#include "search/planners.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/uniap/uniap.hpp"

namespace {

search::SearchResult ask_all(const search::Problem& problem, const search::SearchContext& context, std::vector<search::Planner> others) {
  const search::Planner planner = search::auto_planner(std::move(others));
  return planner.plan(problem, search::OptionValues(planner.options), context);
}

}  // namespace

TEST_CASE("the best of several planners, and who found it") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  const std::vector<search::Planner> others{search::data_parallel_planner(), search::megatron_planner(), search::fsdp_planner()};
  const search::SearchResult r = ask_all(q.problem(), {}, others);
  REQUIRE(r.best);
  const base::Seconds replicas = q.oracle.plan(search::data_parallel_plan(q.problem(), {}).value()).iteration_time;
  CHECK(*r.objective <= replicas);
  CHECK((r.best->summary.starts_with("data-parallel: ") || r.best->summary.starts_with("fsdp: ")));
  // megatron wants degrees: it is not asked.
  REQUIRE(r.notes.at(0).code == "planners-times");
  const auto& times = std::get<base::Fact::Times>(r.notes[0].values.at(0));
  CHECK(times.size() == 2);
  CHECK(std::ranges::count(times, "megatron", &base::Fact::Times::value_type::first) == 0);
}

TEST_CASE("planners in worker processes answer what they answer one after another") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  const topology::Cluster tiny = test::switched(1, 4, 0.5);  // nothing fits
  const sim::Oracle oracle(tiny);
  const std::vector<search::Planner> others{search::data_parallel_planner(), search::fsdp_planner(), search::uniap_planner()};
  for (const search::Problem& problem : {q.problem(), search::Problem{q.model, q.section, tiny, q.training, oracle}}) {
    const search::SearchResult alone = ask_all(problem, {}, others), together = ask_all(problem, {.jobs = 3}, others);
    CHECK(alone.best == together.best);
    CHECK(alone.closest == together.closest);
    CHECK(alone.objective == together.objective);
    CHECK(alone.notes == together.notes);
    CHECK(alone.lost.size() == together.lost.size());
    CHECK(stop_reason(alone.termination) == stop_reason(together.termination));
    // Searches that looked at as many candidates as they do were not ended by the time.
    CHECK(std::ranges::count(alone.notes, "planners-out-of-time", &base::Fact::code) == 0);
    const auto says_why = [](const base::Fact& f) {
      return f.code == "planner-without-memory" && f.values.at(0) == base::Fact::Value("data-parallel");
    };
    CHECK(std::ranges::any_of(alone.notes, says_why) == !alone.best);
  }
}

TEST_CASE("planners that the time does not reach are counted") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  double now = 0;
  const search::SearchContext late{.clock = [&] { return base::Seconds(now += 25); }};
  const search::SearchResult r =
      ask_all(q.problem(), late, {search::data_parallel_planner(), search::fsdp_planner(), search::fsdp_planner()});
  REQUIRE(r.best);
  CHECK(r.termination.limit() == search::Limit::effort);
  CHECK(std::ranges::count(r.notes, "planners-not-asked", &base::Fact::code) == 1);
}

TEST_CASE("a search that its share of the time ends makes the answer one of a time limit") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  search::Planner ended = search::data_parallel_planner();
  ended.kind = "ended";
  ended.plan = [](const search::Problem& p, const search::OptionValues&, const search::SearchContext&) {
    search::SearchResult r = search::result_of_rule(search::data_parallel_plan(p, {}));
    r.termination = search::Termination::feasible(search::Limit::effort);
    return r;
  };
  const search::SearchResult r = ask_all(q.problem(), {}, {search::data_parallel_planner(), ended});
  REQUIRE(r.best);
  CHECK(r.termination.limit() == search::Limit::effort);
  CHECK(std::ranges::count(r.notes, base::Fact("planners-out-of-time", std::vector<std::string>{"ended"})) == 1);
}

TEST_CASE("auto is on the list, last, and does not ask itself") {
  CHECK(search::planners().back().kind == "auto");
  CHECK(search::find_planner("auto", "") != nullptr);
}
