// Hosts that wait for what they launch, in pipelines whose messages cross nodes.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/program/program.hpp"
#include "tests/about.hpp"

TEST_CASE("launches that block make every schedule longer, and none waits for ever") {
  // Two tensor ranks a node share a message out and gather it where it arrives, which no order among the receiver's own launches holds.
  const auto cluster = test::dgx_a100(2, 2);
  const test::Shape shape{.layers = 4, .batch = 8};
  using enum pcg::ScheduleKind;
  for (const pcg::ScheduleKind schedule : {gpipe, one_f_one_b, interleaved, zero_bubble}) {
    CAPTURE(static_cast<int>(schedule));
    const pcg::Plan plan = test::megatron(
        shape, {.tensor = 2, .pipeline = 2, .chunks = schedule == interleaved ? 2 : 1, .micro_batch = 1, .schedule = schedule}, cluster);
    sim::SimulationConfig config;
    config.framework = profiles::framework_profile(pcg::Framework::megatron);
    const auto seconds = [&] { return sim::simulate_plan(plan, cluster, config).iteration_time.value(); };
    const double ahead = seconds();
    config.framework->blocking_launches = true;
    CHECK(seconds() > ahead);
  }
}

TEST_CASE("what a message's receivers gather is in no order with their own launches: passes side by side do not wait for ever") {
  // Two replicas of four stages of two tensor ranks; hosts wait for messages.
  const auto cluster = test::dgx_a100(4, 4);
  const pcg::Plan plan = test::megatron({.layers = 8, .batch = 16},
                                        {.tensor = 2, .pipeline = 4, .micro_batch = 1, .schedule = pcg::ScheduleKind::dual_pipe}, cluster);
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::megatron);
  CHECK(sim::simulate_plan(plan, cluster, config).iteration_time.value() > 0);
}

TEST_CASE("a collective waits for the latest of its hosts, a message for none") {
  // Of hosts that are late by exponential times of mean 6 us the latest of n is late by 6 us (1 + 1/2 + ... + 1/n) on average, of which
  // each has 6 us itself.
  sim::Program program;
  program.collective_launch = {base::Seconds(10e-6)};
  program.launch_jitter = base::Seconds(6e-6);
  const auto launched = [&](sim::CollectiveKind kind, std::size_t hosts) {
    sim::Transfer transfer{kind, base::Bytes(1), {}};
    for (std::size_t d = 0; d < hosts; ++d) transfer.group.emplace_back(d);
    return program.launch_s(transfer, 0);
  };
  CHECK(launched(sim::CollectiveKind::all_reduce, 1) == test::about(10e-6));
  CHECK(launched(sim::CollectiveKind::all_reduce, 2) == test::about(13e-6));
  CHECK(launched(sim::CollectiveKind::all_gather, 4) == test::about(16.5e-6));
  CHECK(launched(sim::CollectiveKind::send, 2) == test::about(10e-6));
}
