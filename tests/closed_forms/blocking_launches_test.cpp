// Hosts that wait for what they launch, in pipelines whose messages cross nodes.
#include <doctest/doctest.h>

#include "planning.hpp"

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
