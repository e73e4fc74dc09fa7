// Plans of answers as values and as texts.
#include "scenarios/answer/result.hpp"

#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "pcg/plan/plan_text.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/run.hpp"

namespace {

using scenarios::StoredPlan;

StoredPlan made(const std::string& plan) {
  return scenarios::run_scenario(test::load(test::kTwoGpus + "plans: [" + plan + "]\n"), {}).runs.at(0).made;
}

}  // namespace

TEST_CASE("a plan that is kept as text says what it said") {
  const StoredPlan value = made("data-parallel");
  StoredPlan::Texts texts;
  StoredPlan text = value, again = value;
  text.keep_text(texts);
  again.keep_text(texts);
  CHECK(texts.size() == 1);  // equal plans share one
  CHECK(text == again);
  CHECK(*text.value() == *value);
  CHECK(text.text() == pcg::write_plan(*value));
  CHECK(text.rewrites() == value->rewrites);
  CHECK_FALSE(text == value);  // it would have to be read for that
  CHECK_THROWS_AS((void)*text, base::InternalError);
  text.keep_value();
  CHECK(text == value);

  StoredPlan other = made("{fsdp: {stage: zero3}}");
  CHECK_FALSE(other == value);
  other.keep_text(texts);
  CHECK_FALSE(other == again);
  CHECK(texts.size() == 2);
}

TEST_CASE("no plan has neither value nor text") {
  StoredPlan none;
  StoredPlan::Texts texts;
  none.keep_text(texts);
  CHECK_FALSE(none);
  CHECK(none.value() == nullptr);
  CHECK(none.rewrites().empty());
  CHECK(none == StoredPlan());
}

TEST_CASE("of what-ifs plans of their own are texts, and the base's is the base's") {
  const auto r = scenarios::run_scenario(
      test::load(test::kTwoGpus +
                 "plans: [data-parallel]\nwhat_if:\n  - {name: faster, set: {cluster.links.wire.bandwidth: 2x}}\n  - {name: more, set: "
                 "{cluster.nodes: 2x}}\n  - {name: more again, set: {cluster.nodes: 2x, cluster.links.wire.bandwidth: 2x}}\n"),
      {});
  REQUIRE(r.runs.size() == 5);
  CHECK(&*r.runs[1].made == &*r.runs[0].made);
  CHECK(&*r.runs[2].made == &*r.runs[0].made);
  CHECK(scenarios::have_same_plan(r.runs[3], r.runs[4]));
  CHECK_FALSE(scenarios::have_same_plan(r.runs[3], r.runs[0]));
  CHECK(r.runs[3].made.value()->gpus == 4);
  const auto back = scenarios::decode(scenarios::encode(r.runs));
  for (std::size_t i = 0; i < back.size(); ++i) CHECK(*back[i].made.value() == *r.runs[i].made.value());
}
