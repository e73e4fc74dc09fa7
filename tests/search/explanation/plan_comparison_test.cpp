// Two plans against each other: settings and operators.
#include "search/explanation/explanation.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "search/planners/data_parallel/data_parallel.hpp"
#include "tests/search/problem.hpp"

namespace {

pcg::Plan on_grid(const test::Question& q, const search::GridConfig& config) { return search::megatron_plan(q.problem(), config).value(); }

std::string told(const std::optional<search::PlacedCut>& p) { return p ? p->cut + " on " + pcg::to_text(p->devices) : "not there"; }

std::size_t counted(const search::PlanComparison& c) {
  std::size_t n = c.alike;
  for (const search::OperatorDifference& o : c.others) n += o.count;
  return n;
}

}  // namespace

TEST_CASE("a plan does nothing otherwise than itself") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  for (const search::GridConfig& config : {search::GridConfig{}, search::GridConfig{.tensor = 2}, search::GridConfig{.pipeline = 2}}) {
    const pcg::Plan plan = on_grid(q, config);
    const search::PlanComparison c = search::compare_plans(plan, plan);
    CHECK(c.settings.empty());
    CHECK(c.others.empty());
    CHECK(c.alike == c.operators);
    CHECK(c.operators > 0);
  }
}

TEST_CASE("plans of one grid that cut alike differ in settings alone") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);
  const pcg::Plan plain = on_grid(q, {}), sharded = on_grid(q, {.recompute = pcg::Recompute::full, .zero = 3, .shard = 2});
  const search::PlanComparison c = search::compare_plans(plain, sharded);
  CHECK(c.alike == c.operators);
  REQUIRE(c.settings.size() == 3);
  CHECK(c.settings[0].key == "memory.recompute");
  CHECK(c.settings[0].first == "none");
  CHECK(c.settings[0].second == "full");
  CHECK(c.settings[1].key == "memory.zero");
  CHECK(c.settings[2].key == "memory.shard_groups");
  CHECK(!c.settings[2].first);  // the default is not written
  CHECK(c.settings[2].second == "2");
}

TEST_CASE("layers that both plans run alike are one line, and each operator is counted once") {
  const test::Question q(test::kSmallGpt, 1, 4, 16);  // two layers
  const pcg::Plan by_samples = on_grid(q, {}), by_tensor = on_grid(q, {.tensor = 4});
  const search::PlanComparison c = search::compare_plans(by_samples, by_tensor), back = search::compare_plans(by_tensor, by_samples);
  CHECK(counted(c) == c.operators);
  CHECK(back.operators == c.operators);
  CHECK(back.alike == c.alike);
  CHECK(back.others.size() == c.others.size());
  const auto norm = std::ranges::find(c.others, "layer_norm", &search::OperatorDifference::kind);
  REQUIRE(norm != c.others.end());
  CHECK(norm->count == 5);  // two in each layer, and the last
  CHECK(told(norm->first) == "b 4 on 0 to 3");
  CHECK(told(norm->second) == "copies 4 on 0 to 3");
  CHECK(std::ranges::is_sorted(c.others, std::ranges::greater(), &search::OperatorDifference::count));
}

TEST_CASE("operators over the same GPUs in another order, and operators that only one plan has") {
  const test::Question q("{builtin: mlp-mnist}", 1, 4, 8);
  const pcg::Plan plan = on_grid(q, {});
  pcg::Plan other = plan;
  for (std::size_t n = 0; n < other.pcg.nodes().size(); ++n)
    if (other.pcg.nodes()[n].name == "layer0")
      other.mapping[n] = {.devices = {base::DeviceId(1), base::DeviceId(0), base::DeviceId(3), base::DeviceId(2)}};
  const search::PlanComparison c = search::compare_plans(plan, other);
  REQUIRE(c.others.size() == 1);
  CHECK(c.others[0].is_reordered);
  CHECK(c.others[0].name == "layer0");
  const test::Question gpt(test::kSmallGpt, 1, 4, 8);
  const search::PlanComparison strangers = search::compare_plans(plan, on_grid(gpt, {}));
  CHECK(std::ranges::any_of(strangers.others, [](const search::OperatorDifference& o) { return o.first && !o.second; }));
  CHECK(std::ranges::any_of(strangers.others, [](const search::OperatorDifference& o) { return !o.first && o.second; }));
  CHECK(!search::are_of_one_model(plan, on_grid(gpt, {})));
  CHECK(search::are_of_one_model(plan, other));
}
