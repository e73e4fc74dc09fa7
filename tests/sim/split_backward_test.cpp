// Backward passes that leave the gradients of weights to passes of their own.
#include <doctest/doctest.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

sim::SimulationResult split_run(pcg::ScheduleKind kind, int m) {
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host_waits_for_stage = {false, false};
  return sim::simulate_plan(test::pipeline_of(test::mlp(16, 4096, 1024), 4, 1, m, kind), test::star(1, 4, "100000 GB/s", "0 us"), config);
}

}  // namespace

TEST_CASE("ZB-H1's last stage works without a pause, and the others are done when it is") {
  // Four stages of four layers: of a micro-batch a stage has 4 units forward, 4 for the gradients of its inputs (the first stage 3) and 4
  // for those of its weights. The last stage begins after three stages' forward passes, 12 units, and works 12 m units. The first stage
  // gets its last gradient before the last stage has made those of the weights that it left. 1F1B takes 12 m + 35 units (bubble_test.cpp).
  using enum pcg::ScheduleKind;
  for (const int m : {4, 12, 40}) {
    CAPTURE(m);
    const auto split = split_run(zero_bubble, m), whole = split_run(one_f_one_b, m);
    CHECK(split.iteration_time.value() / whole.iteration_time.value() == test::about((12.0 * m + 12) / (12.0 * m + 35), 0.01));
    // The last stage ends the iteration: it waits before its first forward pass, and then no more.
    CHECK(split.stages.back().compute.value() / split.iteration_time.value() == test::about(12.0 * m / (12 * m + 12), 0.01));
  }
}

TEST_CASE("a split backward pass keeps what the gradients of weights are made of") {
  // A product of n x n keeps its input for the gradient of its weights, whole or split; split, the gradient of its output too.
  const pcg::Plan plan = test::pipeline_of(test::mlp(8, 256, 64), 4, 1, 8, pcg::ScheduleKind::zero_bubble);
  const auto devices =
      sim::device_memory(plan, sim::dataflow_of(plan), test::star(1, 4), profiles::framework_profile(pcg::Framework::generic));
  const double tensor = 64 * 256 * 4;
  for (std::size_t s = 0; s < 3; ++s) {
    CHECK(devices[s].saved[s].value() == test::about(2 * tensor));
    CHECK(devices[s].kept[s].value() == test::about(4 * tensor));
  }
}

TEST_CASE("ZB-H1 holds what micro-batches on their way keep, and what is kept for gradients of weights that are left") {
  // Rank r of 4 has 4 - r micro-batches between their two passes, of 2 tensors each, and r whose gradients of weights come later, of 4.
  const pcg::Plan plan = test::pipeline_of(test::mlp(8, 256, 64), 4, 1, 8, pcg::ScheduleKind::zero_bubble);
  const double tensor = 64 * 256 * 4;
  const std::vector<sim::MemoryUse> uses = sim::memory_by_device(plan, test::star(1, 4), {});
  for (std::size_t r = 0; r < 3; ++r) {
    const auto rank = static_cast<double>(r);
    CHECK(uses.at(r).activations.value() == test::about(((4 - rank) * 2 + rank * 4) * tensor));
  }
}

TEST_CASE("gradients of split passes are synchronised when the last of them are made") {
  // Two replicas of a stage each: the same bytes travel, whole or split, with each ZeRO stage.
  using enum pcg::ScheduleKind;
  for (const auto& [zero, blocks] : std::vector<std::pair<int, std::vector<int>>>{{0, {}}, {1, {}}, {2, {}}, {3, {}}, {3, {2}}}) {
    const auto bytes = [&](pcg::ScheduleKind kind) {
      pcg::Plan plan = test::plan_of(test::mlp(4, 512, 8), {{"*", {{"b", 2}}}}, 2);
      plan.micro_batches = 3;
      plan.training.global_batch = 24;
      plan.schedule = kind;
      plan.zero = zero;
      plan.memory.zero.blocks = blocks;
      return sim::simulate_plan(plan, test::star(1, 2)).bytes.total.value();
    };
    CAPTURE(zero);
    CHECK(bytes(zero_bubble) == test::about(bytes(one_f_one_b)));
  }
}

TEST_CASE("what is computed again and kept for gradients of weights is part of the peak") {
  pcg::Plan plan = test::pipeline_of(test::mlp(32, 256, 64), 4, 1, 8, pcg::ScheduleKind::zero_bubble);
  plan.recompute = pcg::Recompute::full;
  const auto r = sim::simulate_plan(plan, test::star(1, 4), {.trace = true});
  CHECK(std::ranges::max(r.memory_over_time, {}, &sim::MemorySample::used).used == r.memory.peak);
}
