// Comparisons: what two answers differ in, the interval of their ratio, and how surely a plan is the quickest.
#include "scenarios/intervals/pairs.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <regex>

#include "base/yaml/parse.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/comparisons.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/intervals/interval.hpp"
#include "tests/about.hpp"

namespace {

using namespace scenarios;

ForecastFacts facts() {
  return {.work = "gpt",
          .plan = "tensor 2",
          .gpus = 8,
          .samples = 64,
          .precision = "bf16",
          .machine = {{"node", "a100"}, {"link nvlink", "300"}, {"link infiniband", "25"}},
          .links = {{"nvlink", 0.25}},
          .shares = {0.1, 0.2},
          .spread = 0.3};
}

PairModel measured_pairs() { return {.level = 0.9, .spread = {0.06, 0.08, 0.1, 0.2}, .growth = 2}; }

// s of the interval of a ratio.
double pair_spread(const PairModel& model, const ForecastFacts& a, const ForecastFacts& b) {
  return std::log(speedup_interval(model, a, b, 1).high);
}

Changes only(Change kind) {
  Changes c;
  c.kinds[static_cast<std::size_t>(kind)] = true;
  return c;
}

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); }

constexpr double kNormal90 = 1.6448536269514722;  // the normal quantile of 95 %

}  // namespace

TEST_CASE("what two forecasts differ in") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  CHECK_FALSE(changes_between(a, b).any());
  b.plan = "tensor 4";
  CHECK(changes_between(a, b) == only(Change::plan));
  b = facts();
  b.gpus = 16;
  b.samples = 128;
  CHECK(changes_between(a, b) == only(Change::scale));
  b.gpus = 8;
  CHECK(changes_between(a, b) == only(Change::scale));
  b = facts();
  b.precision = "fp8";
  CHECK(changes_between(a, b) == only(Change::precision));
  b = facts();
  b.machine["node"] = "h100";
  CHECK(changes_between(a, b) == only(Change::machine));
  b = facts();
  b.work = "llama";
  CHECK(changes_between(a, b).other);
  CHECK(changes_between(a, b).count() == 0);
}

TEST_CASE("a link counts where one of the two uses it, and a machine that lacks a part is another one") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  b.machine["link infiniband"] = "100";
  CHECK_FALSE(changes_between(a, b).any());
  b.links["infiniband"] = 0.1;
  CHECK(changes_between(a, b) == only(Change::machine));
  CHECK(changes_between(b, a) == only(Change::machine));
  b = facts();
  b.machine["link nvlink"] = "450";
  CHECK(changes_between(a, b) == only(Change::machine));
  b = facts();
  b.machine.erase("node");
  CHECK(changes_between(a, b) == only(Change::machine));
  CHECK(changes_between(b, a) == only(Change::machine));
}

TEST_CASE("each kind has its own spread, and several add up in squares") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  CHECK(pair_spread(measured_pairs(), a, b) == 0);
  b.plan = "tensor 4";
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.06));
  b.gpus = 16;
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.1));  // 6, 8, 10
  b.plan = a.plan;
  b.gpus = 8;
  b.machine["node"] = "h100";
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.2));
}

TEST_CASE("where links alone differ, the spread of machines counts for the time in which GPUs wait for them") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  b.machine["link nvlink"] = "450";
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.25 * 0.2));
  b.links["nvlink"] = 0.4;
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.4 * 0.2));
  CHECK(pair_spread(measured_pairs(), b, a) == test::about(0.4 * 0.2));
  b.machine["node"] = "h100";
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.2));
  b = facts();
  b.machine["link infiniband"] = "100";
  b.links["infiniband"] = 0;  // it carries bytes that nothing waits for
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.01));
}

TEST_CASE("a spread grows with what the two workloads' shares differ by, whichever is larger") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  b.plan = "tensor 4";
  b.shares = {0.2, 0.05};  // 0.1 + 0.15
  CHECK(shares_apart(a, b) == test::about(0.25));
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.06 * std::exp(0.5)));
  CHECK(pair_spread(measured_pairs(), b, a) == test::about(0.06 * std::exp(0.5)));
}

TEST_CASE("a comparison is never less sure than one of independent errors, nor surer than a percent") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  b.plan = "tensor 4";
  b.spread = 0.4;  // with 0.3: 0.5
  PairModel m = measured_pairs();
  m.spread[0] = 2;
  CHECK(pair_spread(m, a, b) == test::about(0.5));
  m.spread[0] = 0.001;
  CHECK(pair_spread(m, a, b) == test::about(0.01));
  m.spread[0] = 0;  // no pairs of plans were measured
  CHECK(pair_spread(m, a, b) == test::about(0.5));
  b.work = "llama";
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.5));
  CHECK(pair_spread({}, a, b) == test::about(0.5));
}

TEST_CASE("what only one of two forecasts assumes widens their comparison, as far as if they were independent") {
  ForecastFacts a = facts(), b = facts();
  b.plan = "tensor 4";
  a.unmeasured = b.unmeasured = 0.8;
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.06));
  a.unmeasured = 0;
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(0.06 * std::exp(0.8)));
  CHECK(pair_spread(measured_pairs(), b, a) == test::about(0.06 * std::exp(0.8)));
  a.unmeasured = 100;
  CHECK(pair_spread(measured_pairs(), a, b) == test::about(std::hypot(a.spread, b.spread)));
}

TEST_CASE("the interval of a ratio is symmetric in the logarithm") {
  const ForecastFacts a = facts();
  ForecastFacts b = facts();
  b.plan = "tensor 4";
  const Speedup s = speedup_interval(measured_pairs(), a, b, 1.3);
  CHECK(s.ratio == 1.3);
  CHECK(s.low == test::about(1.3 * std::exp(-0.06)));
  CHECK(s.high == test::about(1.3 * std::exp(0.06)));
  CHECK_FALSE(s.is_no_sure_gain());
  const Speedup close = speedup_interval(measured_pairs(), a, b, 1.05);
  CHECK(close.is_no_sure_gain());
  CHECK_FALSE(speedup_interval(measured_pairs(), a, b, 0.5).is_no_sure_gain());  // surely slower
}

TEST_CASE("the same plan on the same machine is exactly as quick; where its time differs all the same, it is another plan") {
  const Speedup same = speedup_interval(measured_pairs(), facts(), facts(), 1);
  CHECK((same.low == 1 && same.ratio == 1 && same.high == 1));
  CHECK(same.is_exact());
  CHECK_FALSE(same.is_no_sure_gain());
  CHECK(speedup_interval(measured_pairs(), facts(), facts(), 1.2).high == test::about(1.2 * std::exp(0.06)));
}

TEST_CASE("intervals hold their ratio, whatever differs") {
  CHECK(rc::check([] {
    ForecastFacts b = facts();
    if (*rc::gen::arbitrary<bool>()) b.plan = "other";
    if (*rc::gen::arbitrary<bool>()) b.gpus = 16;
    if (*rc::gen::arbitrary<bool>()) b.precision = "fp8";
    if (*rc::gen::arbitrary<bool>()) b.machine["node"] = "h100";
    b.shares[0] = *rc::gen::inRange(0, 100) / 100.0;
    b.spread = *rc::gen::inRange(1, 100) / 100.0;
    const double ratio = *rc::gen::inRange(1, 400) / 100.0;
    const Speedup s = speedup_interval(measured_pairs(), facts(), b, ratio);
    RC_ASSERT(s.low <= s.ratio && s.ratio <= s.high);
    RC_ASSERT(s.high / s.low <= std::exp(2 * std::hypot(0.3, b.spread)) * (1 + 1e-12));
  }));
}

TEST_CASE("of two plans the quickest is so with Phi(ln ratio / standard deviation of the pair)") {
  const double behind = std::log(1.05);
  // sigma sqrt 2 is 0.06 / 1.645.
  CHECK(probability_of_best(std::vector<Rival>{{behind, 0.06}}) == test::about(phi(behind * kNormal90 / 0.06), 1e-8));
  CHECK(probability_of_best(std::vector<Rival>{{0, 0.06}}) == test::about(0.5, 1e-8));
  CHECK(probability_of_best(std::vector<Rival>{{5, 0.06}}) == test::about(1, 1e-8));
  CHECK(probability_of_best({}) == 1);
}

TEST_CASE("of several plans that are equally quick each is the quickest as often; one far behind changes nothing") {
  CHECK(probability_of_best(std::vector<Rival>(2, Rival{0, 0.1})) == test::about(1.0 / 3, 1e-8));
  CHECK(probability_of_best(std::vector<Rival>(3, Rival{0, 0.1})) == test::about(0.25, 1e-8));
  const double one = probability_of_best(std::vector<Rival>{{0.04, 0.1}});
  CHECK(probability_of_best(std::vector<Rival>{{0.04, 0.1}, {4, 0.1}}) == test::about(one, 1e-8));
  CHECK(probability_of_best(std::vector<Rival>{{0.04, 0.1}, {0.05, 0.1}}) < one);
}

TEST_CASE("a rival whose pair is less sure takes more of the probability") {
  // Of one alone: Phi(0.05 x 1.645 / 0.2). The surer one far away leaves that, whatever the two deviations are.
  CHECK(probability_of_best(std::vector<Rival>{{0.05, 0.2}, {3, 0.1}}) == test::about(phi(0.05 * kNormal90 / 0.2), 1e-8));
}

TEST_CASE("the section of pairs reads back what was written; without it no kind has pairs") {
  IntervalModel m;
  CHECK(write_intervals(m, "a test").find("pairs") == std::string::npos);
  CHECK(read_intervals(base::parse_yaml(write_intervals(m, "a test"), "a")).pairs.spread == m.pairs.spread);
  m.pairs = {.level = 0.9, .spread = {0.0625, 0, 0.125, 0.25}, .growth = 0.5};
  const std::string text = write_intervals(m, "a test");
  const PairModel again = read_intervals(base::parse_yaml(text, "a")).pairs;
  CHECK(again.spread == m.pairs.spread);
  CHECK(again.growth == 0.5);
  CHECK(again.level == 0.9);
  std::string wrong = text;
  wrong.replace(wrong.find("plan: 0.0625"), 12, "plan: -1");
  CHECK_THROWS_AS((void)read_intervals(base::parse_yaml(wrong, "a")), base::InputError);
}

namespace {

constexpr const char* kAsked = R"(plans: [data-parallel, fsdp, {data-parallel: {}, name: again}]
what_if:
  - {name: more memory, set: {cluster.node.gpus.memory: 2x}}
  - {name: half the work, set: {training.batch_per_gpu: 16}}
)";

const Run& run_of(const ScenarioResult& result, const std::string& plan, const std::string& variant) {
  for (const Run& r : result.runs)
    if (r.plan == plan && r.variant == variant) return r;
  FAIL("no such run");
  return result.runs.front();
}

}  // namespace

TEST_CASE("runs are compared by their plans and machines: memory makes no other machine, a batch another scale") {
  ScenarioResult result = run_scenario(test::load(test::in_fp32(test::kTwoGpus) + kAsked), {});
  const Run& base = run_of(result, "data-parallel", "base");
  CHECK_FALSE(base.against_base);
  CHECK(base.facts.gpus == 2);
  CHECK(base.facts.spread == test::about(std::log(base.interval_high / base.interval_low) / 2));
  CHECK_FALSE(changes_between(base.facts, run_of(result, "again", "base").facts).any());
  const Run& memory = run_of(result, "data-parallel", "more memory");
  CHECK_FALSE(changes_between(base.facts, memory.facts).any());
  REQUIRE(memory.against_base);
  CHECK(memory.against_base->is_exact());
  const Run& batch = run_of(result, "data-parallel", "half the work");
  CHECK(changes_between(base.facts, batch.facts).kinds[static_cast<std::size_t>(Change::scale)]);
  REQUIRE(batch.against_base);
  CHECK(batch.against_base->low < batch.against_base->ratio);
  CHECK(batch.against_base->ratio == test::about(batch.samples_per_s / base.samples_per_s));
  CHECK(changes_between(base.facts, run_of(result, "fsdp", "base").facts) == only(Change::plan));
}

TEST_CASE("a what-if that says a default asks about the same work") {
  const std::string gpt = std::regex_replace(test::in_fp32(test::kTwoGpus), std::regex("mlp-mnist"), "gpt3-125m");
  const ScenarioResult result =
      run_scenario(test::load(gpt + "plans: [data-parallel]\nwhat_if:\n  - {name: said, set: {model.sequence_length: 1024}}\n"), {});
  CHECK(run_of(result, "data-parallel", "said").against_base->is_exact());
}

TEST_CASE("the favourite is the quickest plan with those that equal it, and they have its probability together") {
  ScenarioResult result =
      run_scenario(test::load(test::in_fp32(test::kTwoGpus) + "plans: [data-parallel, {data-parallel: {}, name: again}]\n"), {});
  REQUIRE(result.favourite);
  CHECK(result.favourite->of == 2);
  CHECK(result.favourite->plans == std::vector<std::string>{"data-parallel", "again"});
  CHECK(result.favourite->probability == 1);
  // Another plan, 5 % behind.
  Run& again = result.runs[1];
  again.facts.plan = "other";
  again.simulation->iteration_time = result.runs[0].simulation->iteration_time * 1.05;
  again.samples_per_s = result.runs[0].samples_per_s / 1.05;
  again.tokens_per_s = result.runs[0].tokens_per_s / 1.05;
  const auto favourite = favourite_of(measured_pairs(), result);
  REQUIRE(favourite);
  CHECK(favourite->plans == std::vector<std::string>{"data-parallel"});
  CHECK(favourite->probability == test::about(phi(std::log(1.05) * kNormal90 / 0.06), 1e-8));
  again.status = Status::out_of_memory;
  CHECK_FALSE(favourite_of(measured_pairs(), result));
}
