#include "scenarios/accuracy/interval.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "scenario_text.hpp"
#include "scenarios/accuracy/interval_file.hpp"
#include "scenarios/run.hpp"

namespace {

using namespace scenarios;

const QuestionKind kKind{"megatron", "a100", "several nodes", "half", "whole"};

// One group that covers 8 to 64 GPUs (log2: 3 to 6) and one value of everything else.
IntervalModel model() {
  IntervalModel m;
  m.extrapolation_rate = 0.5;
  m.pooled_spread = {-0.2, 0.6};
  IntervalGroup g;
  g.kind = kKind;
  g.points = 40;
  g.sources = {"made-up"};
  g.spread = {-0.1, 0.2};
  g.low = g.high = {30, 3, 40, 4, 0, 0, 0.1};
  g.high[1] = 6;
  m.groups.push_back(g);
  return m;
}

Question question(double log2_gpus) { return {kKind, {30, log2_gpus, 40, 4, 0, 0, 0.1}}; }

std::string problems_of(const std::string& text) {
  try {
    (void)read_intervals(base::parse_yaml(text, "accuracy.yaml"));
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += d.path + ": " + d.message + "\n";
    return all;
  }
  return {};
}

}  // namespace

TEST_CASE("inside the range that a group covers its own quantiles hold") {
  const Interval i = interval_for(model(), question(4), base::Seconds(2));
  CHECK(i.low.value() == doctest::Approx(2 * std::exp(-0.1)));
  CHECK(i.high.value() == doctest::Approx(2 * std::exp(0.2)));
  CHECK(i.note.text ==
        "the interval rests on residuals of 40 measured iterations (megatron, a100, several nodes, half precision, whole replicas)");
}

TEST_CASE("half a range width beyond: half way to the pooled spread, and extrapolated") {
  // 64 GPUs is the end (6); 7.5 is 1.5 of a width of 3 beyond: distance 0.5. low -0.1 -> -0.15, high 0.2 -> 0.4; times 1 + 0.5 x 0.5.
  const FoundSpread f = spread_for(model(), question(7.5));
  CHECK(f.distance == doctest::Approx(0.5));
  CHECK(f.spread.low == doctest::Approx(-0.15 * 1.25));
  CHECK(f.spread.high == doctest::Approx(0.4 * 1.25));
}

TEST_CASE("distances add up as in space, a range of one point is a doubling wide, of shares a tenth") {
  const Features at{30, 3, 40, 4, 0, 0, 0.1};
  CHECK(distance_beyond(at, at, at) == 0);
  Features x = at;
  x[0] += 3;
  x[6] += 0.4;
  CHECK(distance_beyond(x, at, at) == doctest::Approx(5));  // 3 and 4
}

TEST_CASE("a kind that nobody measured gets the leave-one-group-out spread, and the note says so") {
  Question q = question(4);
  q.kind.framework = "generic";
  const FoundSpread f = spread_for(model(), q);
  CHECK(f.group == nullptr);
  CHECK(f.spread.low == doctest::Approx(-0.2));
  CHECK(f.spread.high == doctest::Approx(0.6));
  CHECK(interval_for(model(), q, base::Seconds(1)).note.text ==
        "the interval rests on leave-one-group-out residuals of 1 group, because none of them is like this question");
}

TEST_CASE("the interval holds the forecast, and never narrows with distance") {
  CHECK(rc::check([] {
    const double a = *rc::gen::inRange(-2000, 2000) / 100.0, b = *rc::gen::inRange(0, 1000) / 100.0;
    const double near = a < 3 ? 3 - a : a > 6 ? a - 6 : 0;
    const double farther = a < 3 ? a - b : a > 6 ? a + b : a;
    const Interval i = interval_for(model(), question(a), base::Seconds(1)), j = interval_for(model(), question(farther), base::Seconds(1));
    RC_ASSERT(i.low <= base::Seconds(1) && base::Seconds(1) <= i.high);
    RC_ASSERT(near == 0 || (j.low <= i.low && j.high >= i.high));
  }));
}

TEST_CASE("without residuals the interval is an assumption of 30 %, and says so") {
  const Interval i = interval_for({}, question(4), base::Seconds(1));
  CHECK(i.low.value() == doctest::Approx(0.7));
  CHECK(i.high.value() == doctest::Approx(1.3));
  CHECK(i.note.text == "the interval of +-30 % is an assumption, because no residuals are known");
}

TEST_CASE("the accuracy file reads back what was written") {
  const IntervalModel m = model();
  const std::string text = write_intervals(m, "a test");
  const IntervalModel again = read_intervals(base::parse_yaml(text, "accuracy.yaml"));
  CHECK(write_intervals(again, "a test") == text);
  CHECK(again.groups.size() == 1);
  CHECK(again.groups[0].kind == kKind);
  CHECK(again.groups[0].high == m.groups[0].high);
}

TEST_CASE("what is wrong with an accuracy file") {
  const std::string text = write_intervals(model(), "a test");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
  };
  CHECK(problems_of(text) == "");
  CHECK(problems_of(with("extrapolation_rate: 0.5", "extrapolation_rate: -1")).starts_with("accuracy.extrapolation_rate: "));
  CHECK(problems_of(with("[-0.1, 0.2]", "[0.1, 0.2]")) == "accuracy.groups[0].log_ratio: log ratios must hold 0 and lie within 10\n");
  CHECK(problems_of(with("log2_gpus: [3, 6]", "log2_gpus: [6, 3]")) ==
        "accuracy.groups[0].covers.log2_gpus: the least value is above the greatest\n");
  CHECK(problems_of(with("log2_gpus", "log2_gpu")) != "");
  CHECK(problems_of("foreshard: 1\n") != "");
}

TEST_CASE("the model that ships can be read, and a run's question is told from its plan") {
  (void)shipped_intervals();
  const Scenario s = test::load(test::kTwoGpus + "plans: [fsdp]\n");
  const Run run = run_scenario(s, {}).runs[0];
  const Question q = question_of(*run.made, *s.base().cluster, *run.simulation);
  CHECK(q.kind == QuestionKind{"generic", "v100", "one node", "single", "sharded"});
  // mlp-mnist has 784 x 512 + 512 x 10 weights (406,528); two GPUs; 32 samples each, 2 FLOPs per weight and sample.
  CHECK(q.features[0] == doctest::Approx(std::log2(406528)));
  CHECK(q.features[1] == doctest::Approx(1));
  CHECK(q.features[2] == doctest::Approx(std::log2(2.0 * 406528 * 32)));
  CHECK(q.features[3] == 0);
  CHECK(q.features[4] == 0);
  CHECK(q.features[5] == 0);
}
