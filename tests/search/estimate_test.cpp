#include "search/estimates/estimate.hpp"

#include <doctest/doctest.h>

#include "problem.hpp"

TEST_CASE("model states of a replica are 16 bytes per parameter with mixed-precision Adam") {
  test::Question q(test::kSmallGpt, 1, 4, 8);
  q.training.precision = pcg::Precision::fp16;
  pcg::Plan p = search::data_parallel_plan(q.problem()).value();
  const auto costs = search::stage_costs(p, q.oracle);
  const auto parameters = static_cast<double>(q.model.parameters());
  CHECK(search::model_states(costs, p).value() == doctest::Approx(16 * parameters));
  p.zero = 1;  // 4 replicas share the 12 bytes of the optimizer
  CHECK(search::model_states(costs, p).value() == doctest::Approx((4 + 12.0 / 4) * parameters));
  p.zero = 3;
  CHECK(search::model_states(costs, p).value() == doctest::Approx(16.0 / 4 * parameters));
}

TEST_CASE("gradients cost an all-reduce of all weights, as the oracle times it") {
  const test::Question q("{builtin: mlp-mnist}", 1, 2, 64);
  const pcg::Plan p = search::data_parallel_plan(q.problem()).value();
  const auto costs = search::stage_costs(p, q.oracle);
  const std::vector<base::DeviceId> group = {base::DeviceId(0), base::DeviceId(1)};
  // Figure 2a of Unity: 406,528 parameters of 4 bytes.
  CHECK(costs.size() == 1);
  CHECK(costs[0].gradients.value() ==
        doctest::Approx(q.oracle.collective(sim::CollectiveKind::all_reduce, base::Bytes(406528 * 4), group).value()));
  CHECK(costs[0].parameters == 406528);
  CHECK(costs[0].replicas == 2);
}

TEST_CASE("full recomputation repeats the forward pass of every micro-batch") {
  const test::Question q(test::kSmallGpt, 1, 1, 8);
  pcg::Plan p = search::megatron_plan(q.problem(), {.micro_batch = 2}).value();
  const auto costs = search::stage_costs(p, q.oracle);
  const base::Seconds plain = search::estimate(costs, p);
  p.recompute = pcg::Recompute::full;
  CHECK((search::estimate(costs, p) - plain).value() == doctest::Approx(4 * costs[0].forward.value()));
}

TEST_CASE("a pipeline adds the bubble of its other stages") {
  const test::Question q(test::kSmallGpt, 1, 2, 8);
  const pcg::Plan p = search::megatron_plan(q.problem(), {.pipeline = 2}).value();
  const auto costs = search::stage_costs(p, q.oracle);
  // 8 micro-batches and 1 more of the slower stage, then the update of the stage that has more.
  const double slower = std::max((costs[0].forward + costs[0].backward).value(), (costs[1].forward + costs[1].backward).value());
  const double update = std::max(costs[0].update.value(), costs[1].update.value());
  CHECK(search::estimate(costs, p).value() == doctest::Approx(9 * slower + update));
}
