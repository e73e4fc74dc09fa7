// Pipelines of unequal stages go at the pace of the slowest one.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "tests/about.hpp"

namespace {

// What one more micro-batch costs, once the pipeline is full. Hosts that take no time: kernels alone set the pace.
double pace(const test::Shape& shape, search::GridConfig config) {
  const auto cluster = test::dgx_a100(1, config.pipeline);
  sim::SimulationConfig behaviours;
  behaviours.framework = profiles::framework_profile(pcg::Framework::generic);
  config.micro_batch = 1;
  const auto seconds = [&](std::int64_t micro_batches) {
    test::Shape s = shape;
    s.batch = micro_batches;
    return sim::simulate_plan(test::megatron(s, config, cluster), cluster, behaviours).iteration_time.value();
  };
  return (seconds(24) - seconds(8)) / 16;
}

}  // namespace

TEST_CASE("a pipeline of unequal stages goes at the pace of the stage with most layers") {
  // Eight equal layers, a head of a hundredth of a layer: stages of 4 and 4, 5 and 3, 6 and 2 take 4, 5 and 6 layers' time.
  const test::Shape shape{.layers = 8, .hidden = 4096, .heads = 32, .sequence = 1024, .vocabulary = 256};
  const double equal = pace(shape, {.pipeline = 2});
  CHECK(pace(shape, {.pipeline = 2, .layers_per_stage = {5, 3}}) / equal == test::about(5.0 / 4, 0.03));
  CHECK(pace(shape, {.pipeline = 2, .layers_per_stage = {6, 2}}) / equal == test::about(6.0 / 4, 0.03));
  CHECK(pace(shape, {.pipeline = 2, .layers_per_stage = {2, 6}}) / equal == test::about(6.0 / 4, 0.03));
}

TEST_CASE("balanced stages are no slower than any that are listed") {
  // A head of 98,304 words: 2 h v FLOPs a token against 2 x 12 h^2 of a layer, so it weighs as v / 12 h = 2 layers. Six layers and the
  // head on two stages are 8 layers' work: 4 and 2 layers are even, where 3 and 3 would leave the last stage with 5 layers' work.
  const test::Shape shape{.layers = 6, .hidden = 4096, .heads = 32, .sequence = 512, .vocabulary = 98304};
  const double balanced = pace(shape, {.pipeline = 2, .balanced_stages = true});
  for (int first = 1; first < 6; ++first) CHECK(balanced <= 1.001 * pace(shape, {.pipeline = 2, .layers_per_stage = {first, 6 - first}}));
  const auto cluster = test::dgx_a100(1, 2);
  const pcg::Plan plan = test::megatron(shape, {.pipeline = 2, .micro_batch = 1, .balanced_stages = true}, cluster);
  CHECK(plan.summary.find("layers per stage 4 + 2") != std::string::npos);
}

TEST_CASE("of equal slowest stages the first ones are the quickest: a stage runs ahead while it waits for the others") {
  // Five equal layers on four stages, F and B = 2 F seconds each, c = F + B: one stage has two. Last, it waits for the others' first
  // micro-batch, and they for its last one: 3 c + m x 2 c. First, it begins at once; of the 3 c until its first micro-batch is back it
  // spends 3 x 2 F on forward passes that it would need in any case (1F1B): m x 2 c + 3 c - 6 F = m x 2 c + c.
  const test::Shape shape{.layers = 5, .hidden = 4096, .heads = 32, .sequence = 1024, .vocabulary = 256, .batch = 8};
  const auto cluster = test::dgx_a100(1, 4);
  sim::SimulationConfig behaviours;
  behaviours.framework = profiles::framework_profile(pcg::Framework::generic);
  const auto seconds = [&](search::GridConfig config) {
    config.pipeline = 4;
    config.micro_batch = 1;
    return sim::simulate_plan(test::megatron(shape, config, cluster), cluster, behaviours).iteration_time.value();
  };
  const double first = seconds({.layers_per_stage = {2, 1, 1, 1}}), last = seconds({.layers_per_stage = {1, 1, 1, 2}});
  CHECK(first / last == test::about(17.0 / 19, 0.03));
  CHECK(seconds({.balanced_stages = true}) <= 1.001 * first);
}
