// What a search answers of the plans that it simulated: the quickest, or the one that is surely quick.
#include "search/problem/confirmation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "problem.hpp"

namespace {

using search::Surety;

// Two replicas, two tensor ranks and two stages of one model on two GPUs, by their summaries.
struct Three {
  test::Question q{test::kSmallGpt, 1, 2, 8};
  search::SearchContext context{};

  search::SearchResult result() {
    const search::Problem problem = q.problem();
    search::Confirmation confirmation(problem, context, "three");
    for (const search::GridConfig& c : {search::GridConfig{}, {.tensor = 2}, {.pipeline = 2}})
      (void)confirmation.confirm(search::megatron_plan(problem, c).value());
    const search::Budget budget(context, {base::Seconds(10)});
    return std::move(confirmation).result(budget);
  }
};

const base::Fact* note(const search::SearchResult& r, const std::string& code) {
  const auto at = std::ranges::find(r.notes, code, &base::Fact::code);
  return at == r.notes.end() ? nullptr : &*at;
}

bool is_quick(const pcg::Plan& plan, const search::SearchResult& quickest) { return plan.summary == quickest.best->summary; }

}  // namespace

TEST_CASE("a search that ranks surely has the plan with the least upper end, and names the quickest") {
  Three three;
  const search::SearchResult quickest = three.result();
  REQUIRE(quickest.best);
  REQUIRE(quickest.lost.size() == 2);
  CHECK(note(quickest, "ranked-surely") == nullptr);
  // The quickest may take ten times as long, the others as long as they are forecast to.
  three.context.surety = [&](const pcg::Plan& plan, const sim::SimulationResult& s) {
    return Surety{s.iteration_time * (is_quick(plan, quickest) ? 10 : 1), 100, true};
  };
  CHECK(three.result().best->summary == quickest.best->summary);  // unless it is asked for
  three.context.ranks_surely = true;
  const search::SearchResult sure = three.result();
  CHECK(sure.best->summary == quickest.lost.front().candidate);
  CHECK(*sure.objective == std::get<search::Slower>(quickest.lost.front().why).time);
  const base::Fact* said = note(sure, "ranked-surely");
  REQUIRE(said != nullptr);
  CHECK(*said == base::Fact("ranked-surely", sure.objective->value(), quickest.best->summary, quickest.objective->value(),
                            quickest.objective->value() * 10));
  // Upper ends that are all as far away leave the quickest.
  three.context.surety = [](const pcg::Plan&, const sim::SimulationResult& s) { return Surety{s.iteration_time * 2, 100, true}; };
  CHECK(three.result().best->summary == quickest.best->summary);
}

TEST_CASE("beside a plan of a kind that few rows measured stands the best of a kind that is known") {
  Three three;
  const search::SearchResult quickest = three.result();
  three.context.surety = [&](const pcg::Plan& plan, const sim::SimulationResult& s) {
    const bool few = is_quick(plan, quickest);
    return Surety{s.iteration_time * 1.2, few ? 1U : 50U, !few};
  };
  const search::SearchResult r = three.result();
  CHECK(r.best->summary == quickest.best->summary);
  const base::Fact* said = note(r, "few-rows");
  REQUIRE(said != nullptr);
  CHECK(*said ==
        base::Fact("few-rows", 1, 50, quickest.lost.front().candidate, std::get<search::Slower>(quickest.lost.front().why).time.value()));
  // Where nothing better known was simulated there is nothing to name.
  three.context.surety = [](const pcg::Plan&, const sim::SimulationResult& s) { return Surety{s.iteration_time, 1, false}; };
  CHECK(note(three.result(), "few-rows") == nullptr);
}

TEST_CASE("of plans within a hundredth the plainest is the answer, or is named beside the quickest") {
  Three three;
  const search::Problem problem = three.q.problem();
  const search::Budget budget(three.context, {base::Seconds(10)});
  const auto result = [&](double replicas_s, search::Ties ties) {
    search::Confirmation confirmation(problem, three.context, "tie", ties);
    for (const auto& [config, seconds] : {std::pair(search::GridConfig{.tensor = 2}, 1.0), {{}, replicas_s}, {{.pipeline = 2}, 1.001}}) {
      const pcg::Plan plan = search::megatron_plan(problem, config).value();
      sim::SimulationResult simulation = problem.oracle.plan(plan);
      simulation.iteration_time = base::Seconds(seconds);
      confirmation.take(plan, simulation);
    }
    return std::move(confirmation).result(budget);
  };
  const search::SearchResult plain = result(1.009, search::Ties::to_plainest);
  CHECK(plain.best->summary == "data 2");
  REQUIRE(note(plain, "tie") != nullptr);
  CHECK(*note(plain, "tie") == base::Fact("tie", 3, search::kTie - 1, "tensor 2", 1.0));
  const search::SearchResult quick = result(1.009, search::Ties::to_quickest);
  CHECK(quick.best->summary == "tensor 2");
  CHECK(note(quick, "tie") == nullptr);
  REQUIRE(note(quick, "plainer") != nullptr);
  CHECK(*note(quick, "plainer") == base::Fact("plainer", "data 2", 1.009, search::kTie - 1));
  // Farther away it is no tie; and of equally plain ones the quickest wins unsaid.
  for (const search::Ties ties : {search::Ties::to_plainest, search::Ties::to_quickest}) {
    const search::SearchResult far = result(1.011, ties);
    CHECK(far.best->summary == "tensor 2");
    CHECK(note(far, "tie") == nullptr);
    CHECK(note(far, "plainer") == nullptr);
  }
}

TEST_CASE("each mechanism of a plan counts once") {
  const test::Question q{
      "{transformer: {layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16, causal: true, attention: unfused}}", 1, 4,
      8};
  const auto count = [&](const search::GridConfig& c) { return search::mechanisms_of(search::megatron_plan(q.problem(), c).value()); };
  CHECK(count({}) == 0);
  CHECK(count({.tensor = 2}) == 1);
  CHECK(count({.tensor = 2, .sequence_parallel = true}) == 2);
  CHECK(count({.context = 2}) == 1);
  CHECK(count({.pipeline = 2}) == 1);
  CHECK(count({.pipeline = 2, .chunks = 2, .schedule = pcg::ScheduleKind::interleaved}) == 2);
  CHECK(count({.pipeline = 2, .schedule = pcg::ScheduleKind::gpipe}) == 2);
  CHECK(count({.pipeline = 2, .layers_per_stage = {1, 3}}) == 2);
  CHECK(count({.recompute = pcg::Recompute::full, .zero = 1}) == 2);
  CHECK(count({.zero = 3, .shard = 2}) == 2);
  CHECK(count({.zero = 1, .overlap = {.parameters = true}}) == 2);
  pcg::Plan rewritten = search::megatron_plan(q.problem(), {}).value();
  rewritten.rewrites.push_back({"a1", "up to here", base::Seconds(2), base::Seconds(1)});
  CHECK(search::mechanisms_of(rewritten) == 1);
  rewritten.cuda_graphs = true;
  CHECK(search::mechanisms_of(rewritten) == 2);
  // Twice as many devices as its operators run on.
  rewritten.gpus *= 2;
  CHECK(search::mechanisms_of(rewritten) == 3);
}
