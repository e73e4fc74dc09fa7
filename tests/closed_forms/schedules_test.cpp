// Plans under the schedules that split or mirror what 1F1B does, as a whole: times, memory and bytes of a small transformer.
#include <doctest/doctest.h>

#include <algorithm>

#include "planning.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

pcg::Plan scheduled(pcg::ScheduleKind kind, int pipeline, int batch, int chunks = 1) {
  search::GridConfig grid;
  grid.pipeline = pipeline;
  grid.schedule = kind;
  grid.chunks = chunks;
  grid.micro_batch = 1;
  pcg::TrainingConfig training = test::megatron_training(batch);
  training.framework = pcg::Framework::generic;
  return test::megatron(test::gpt({.layers = 8, .hidden = 1024, .sequence = 1024, .batch = batch, .dropout = 0}), training, grid,
                        test::dgx_a100(1, pipeline));
}

std::vector<sim::DeviceMemory> memory_of_devices(const pcg::Plan& plan) {
  return sim::device_memory(plan, sim::dataflow_of(plan), test::dgx_a100(1, plan.gpus),
                            profiles::framework_profile(plan.training.framework));
}

sim::SimulationResult simulated(const pcg::Plan& plan, bool extrapolate = true) {
  sim::SimulationConfig config;
  config.extrapolate = extrapolate;
  return sim::simulate_plan(plan, test::dgx_a100(1, plan.gpus), config);
}

}  // namespace

TEST_CASE("DualPipe's devices hold their own stage and the opposite one") {
  using enum pcg::ScheduleKind;
  const auto one = memory_of_devices(scheduled(one_f_one_b, 4, 8)), dual = memory_of_devices(scheduled(dual_pipe, 4, 8));
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(dual[d].weights == one[d].weights + one[3 - d].weights);
    CHECK(dual[d].optimizer == one[d].optimizer + one[3 - d].optimizer);
    // A micro-batch of either stage is one sample, as in 1F1B.
    CHECK(dual[d].saved[d] == one[d].saved[d]);
    CHECK(dual[d].saved[3 - d] == one[3 - d].saved[3 - d]);
  }
}

TEST_CASE("DualPipe sends over every boundary what 1F1B sends, and adds up the gradients of both copies") {
  // Every sample passes three boundaries forward and back, whichever way it goes. The copies of all weights are added up in pairs: 2
  // (2-1)/2 bytes on each of both devices for a byte of gradients.
  using enum pcg::ScheduleKind;
  const auto one = simulated(scheduled(one_f_one_b, 4, 8)).bytes, dual = simulated(scheduled(dual_pipe, 4, 8)).bytes;
  CHECK(dual.by_collective.at("send").value() == test::about(one.by_collective.at("send").value()));
  const auto states = memory_of_devices(scheduled(one_f_one_b, 4, 8));
  double gradients = 0;
  for (const sim::DeviceMemory& m : states) gradients += m.gradients.value();
  CHECK(dual.by_collective.at("all_reduce").value() == test::about(2 * gradients, 0.001));
}

TEST_CASE("schedules that fill the bubble are quicker than 1F1B, for any number of micro-batches") {
  using enum pcg::ScheduleKind;
  for (const int batch : {4, 8, 10, 24}) {
    CAPTURE(batch);
    const double one = simulated(scheduled(one_f_one_b, 4, batch)).iteration_time.value();
    CHECK(simulated(scheduled(zero_bubble, 4, batch)).iteration_time.value() < one);
    CHECK(simulated(scheduled(dual_pipe, 4, batch)).iteration_time.value() < one);
    CHECK(simulated(scheduled(flexible, 4, batch, 2)).iteration_time.value() < one);
    CHECK(simulated(scheduled(breadth_first, 4, batch, 2)).iteration_time.value() < one);
  }
}

TEST_CASE("ZB-H1 needs about the memory of 1F1B's first stage on every device") {
  // What the gradients of weights need is less than what a micro-batch keeps, so that four micro-batches of either kind are no more than
  // four of 1F1B's first stage, but for the gradients of the layers' outputs, which one more micro-batch has while they are made.
  using enum pcg::ScheduleKind;
  const auto activations = [](pcg::ScheduleKind kind) {
    const pcg::Plan plan = scheduled(kind, 4, 16);
    return sim::memory_of(plan, test::dgx_a100(1, 4)).activations.value();
  };
  CHECK(activations(zero_bubble) <= 1.3 * activations(one_f_one_b));
}

TEST_CASE("DualPipe's micro-batches that repeat themselves are extrapolated exactly") {
  const pcg::Plan plan = scheduled(pcg::ScheduleKind::dual_pipe, 4, 400);
  const auto few = simulated(plan);
  CHECK(std::ranges::count(few.notes, "folded-micro-batches", &base::Fact::code) == 1);
  CHECK(few.iteration_time.value() == test::about(simulated(plan, false).iteration_time.value()));
}

TEST_CASE("layers on one stage make the others wait for it, which is imbalance and no bubble, and the stage is named") {
  // Of 8 layers the third of 4 stages has 5. One micro-batch more adds the time of the slowest stage, so with many of them the others wait
  // for nearly 4 layers of 5, and the stages on average for (4 + 4 + 0 + 4) / (4 x 5) of the time. What the schedule leaves empty of equal
  // stages is 3 of 67 slots.
  search::GridConfig grid;
  grid.pipeline = 4;
  grid.micro_batch = 1;
  grid.layers_per_stage = {1, 1, 5, 1};
  pcg::TrainingConfig training = test::megatron_training(64);
  training.framework = pcg::Framework::generic;
  const auto r =
      simulated(test::megatron(test::gpt({.layers = 8, .hidden = 1024, .sequence = 1024, .vocabulary = 256, .batch = 64, .dropout = 0}),
                               training, grid, test::dgx_a100(1, 4)));
  const double all = r.iteration_time.value();
  REQUIRE(r.stages.size() == 4);
  CHECK(r.stages[2].imbalance.value() < 0.01 * all);
  CHECK(r.breakdown.bubble.value() <= all * 3 / 67 * (1 + 1e-9));
  CHECK(r.breakdown.imbalance.value() / all == test::about(0.6, 0.1));
  const auto slow = std::ranges::find(r.notes, "slow-stage", &base::Fact::code);
  REQUIRE(slow != r.notes.end());
  CHECK(std::get<std::int64_t>(slow->values[0]) == 2);
}
