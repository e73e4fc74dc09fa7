// A pipeline that is not emptied between iterations (PipeDream-2BW).
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "plan_builder.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/accounting/account.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

pcg::Plan running_on(pcg::ScheduleKind kind, int m) { return test::pipeline_of(test::mlp(16, 4096, 1024), 4, 1, m, kind); }

sim::SimulationResult result_of(const pcg::Plan& plan) {
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host_waits_for_stage = {false, false};
  return sim::simulate_plan(plan, test::star(1, 4, "100000 GB/s", "0 us"), config);
}

}  // namespace

TEST_CASE("a pipeline that stays full takes the time of its slowest stage") {
  // Four stages of four layers: 12 units of a micro-batch on each but the first, whose input needs no gradient. Nothing is waited for: 12 m
  // units, where 1F1B takes 12 m + 35 (bubble_test.cpp), of which the first stage has a bubble of m.
  for (const int m : {4, 12}) {
    CAPTURE(m);
    const auto on = result_of(running_on(pcg::ScheduleKind::two_bw, m)), flushed = result_of(running_on(pcg::ScheduleKind::one_f_one_b, m));
    CHECK(on.iteration_time.value() / flushed.iteration_time.value() == test::about(12.0 * m / (12 * m + 35), 0.02));
    const sim::Breakdown& b = on.breakdown;
    CHECK(b.total().value() == test::about(on.iteration_time.value()));
    // An iteration's messages and kernels are its own.
    CHECK(on.bytes.total.value() == test::about(flushed.bytes.total.value()));
    CHECK(std::ranges::count(on.notes, base::Fact("one-update-newer")) == 1);
  }
}

TEST_CASE("gradients that are reduced in their pass make a pipeline that stays full no slower") {
  // Replicas of 64 weights: collectives cost their latencies. What iteration 1 reduces in its last pass is not to queue before iteration
  // 0's update.
  const auto seconds = [](bool overlapped) {
    pcg::Plan plan = test::two_stages_of(test::mlp(2, 8, 4), 2, 2, 2);
    plan.schedule = pcg::ScheduleKind::two_bw;
    plan.zero = 1;
    plan.overlap.gradients = overlapped;
    return sim::simulate_plan(plan, test::star(1, 4, "150 GB/s", "1 us")).iteration_time.value();
  };
  CHECK(seconds(true) <= seconds(false) * (1 + 1e-9));
}

TEST_CASE("idle time below 0, of hosts that get ahead from one iteration to the next, is less waiting for other stages") {
  sim::Breakdown b;
  b.bubble = base::Seconds(5);
  b.idle = base::Seconds(-2);
  std::vector stages{b};
  sim::split_waits(stages, base::Seconds(10), 0.1);
  CHECK(stages[0].idle == base::Seconds());
  CHECK(stages[0].bubble.value() == test::about(1.0));
  CHECK(stages[0].imbalance.value() == test::about(2.0));
}

TEST_CASE("two versions of the weights, one of all else, and the activations of 1F1B") {
  const auto cluster = test::star(1, 4);
  const auto on = sim::memory_of(running_on(pcg::ScheduleKind::two_bw, 8), cluster),
             flushed = sim::memory_of(running_on(pcg::ScheduleKind::one_f_one_b, 8), cluster);
  CHECK(on.weights == 2 * flushed.weights);
  CHECK(on.gradients == flushed.gradients);
  CHECK(on.optimizer == flushed.optimizer);
  CHECK(on.activations == flushed.activations);
}

TEST_CASE("a pipeline that stays full has as many micro-batches as stages") {
  const auto wrong = pcg::violations(running_on(pcg::ScheduleKind::two_bw, 3));
  REQUIRE(wrong.size() == 1);
  CHECK(wrong.front() == "2bw wants at least as many micro-batches as stages: there are 3 and 4");
}
