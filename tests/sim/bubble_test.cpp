// Where the time of a pipeline's first stage goes: bubble, messages, its own host.
#include "sim/simulation.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "profiles/framework_profile.hpp"
#include "tests/about.hpp"

namespace {

using profiles::BySchedule;

sim::SimulationConfig behaviours(BySchedule overlap, BySchedule host_waits, double micro_batch_s = 0) {
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->overlap_stage_boundary = overlap;
  config.framework->host_waits_for_stage = host_waits;
  config.framework->host.micro_batch = base::Seconds(micro_batch_s);
  return config;
}

// Of the first stage.
sim::Breakdown first(const sim::SimulationResult& r) { return r.stages.front(); }

}  // namespace

TEST_CASE("what waits for another stage is bubble, whether the device waits for the message or for its host, which waits for it") {
  // Four stages of four layers, three products a layer, but two in the first layer, whose input is data: of a micro-batch the first stage
  // has 4 units forward and 7 backward, the others 4 and 8. The last stage works without a pause, 12 m units, from when the first
  // micro-batch has come through three stages, 12 units, until its last gradient has to go back through three, 8 + 8 + 7 units. So an
  // iteration takes 12 m + 35 units, of which the first stage computes 11 m and waits m + 35. Messages
  // take no time; loss and update are a few percent of a slot.
  const auto cluster = test::star(1, 4, "100000 GB/s", "0 us");
  for (const auto kind : {pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b})
    for (const int m : {4, 12})
      for (const bool waits : {false, true}) {
        CAPTURE(m);
        CAPTURE(waits);
        const auto plan = test::pipeline_of(test::mlp(16, 4096, 1024), 4, 1, m, kind);
        const auto r = sim::simulate_plan(plan, cluster, behaviours({!waits, true}, {waits, false}));
        const double unit = r.iteration_time.value() / (12 * m + 35);
        CHECK(first(r).waits_for_stages().value() / unit == test::about(m + 35, 0.03));
        CHECK(first(r).compute.value() / unit == test::about(11 * m, 0.03));
        CHECK(first(r).idle.value() < 0.01 * r.iteration_time.value());
        CHECK(first(r).total().value() == test::about(r.iteration_time.value(), 1e-12));
        // Of equal stages 3 of m + 3 slots would be empty; it waits longer, as the others have more to do.
        CHECK(first(r).bubble.value() == test::about(r.iteration_time.value() * 3 / (m + 3)));
        CHECK(first(r).imbalance.value() / unit == test::about(m + 35 - 3 * (12.0 * m + 35) / (m + 3), 0.3));
      }
}

TEST_CASE("a host that is late is idle time, though it has waited for another stage before") {
  // One micro-batch through two stages; hosts take 5 ms before each pass. The first stage waits for its host before it begins. A host that
  // waits for the gradient takes its 5 ms when it has come; one that does not has them behind it. The host of the second stage is late
  // for its forward pass if it waits for the activation, which the first stage sees as bubble: what the other stage does is its affair.
  const auto cluster = test::star(1, 2, "100000 GB/s", "0 us");
  const auto plan = test::pipeline_of(test::mlp(8, 4096, 4096), 2, 1, 1, pcg::ScheduleKind::gpipe);
  const auto run = [&](bool waits) {
    return sim::simulate_plan(plan, cluster, behaviours({true, true}, {waits, waits}, 5e-3)).stages.front();
  };
  const sim::Breakdown ahead = run(false), waits = run(true);
  CHECK(ahead.idle.value() == test::about(5e-3, 0.01));
  CHECK(waits.idle.value() == test::about(10e-3, 0.01));
  CHECK((waits.waits_for_stages() - ahead.waits_for_stages()).value() == test::about(5e-3, 0.01));
  CHECK(waits.compute.value() == test::about(ahead.compute.value()));
}

TEST_CASE("a message to the device is communication, one to another stage is bubble") {
  // 4096 x 4096 x 4 B over wires of 1 GB/s: 67 ms each way. The first stage waits for the gradient's message, and before that for the
  // second stage, which waits for the activation.
  const auto plan = test::pipeline_of(test::mlp(8, 4096, 4096), 2, 1, 1, pcg::ScheduleKind::gpipe);
  const auto run = [&](const std::string& bandwidth) {
    return sim::simulate_plan(plan, test::star(1, 2, bandwidth, "0 us"), behaviours({true, true}, {false, false})).stages.front();
  };
  const sim::Breakdown slow = run("1 GB/s"), quick = run("100000 GB/s");
  const double message = 4096.0 * 4096 * 4 / 1e9;
  CHECK(slow.exposed_communication.value() == test::about(message, 0.001));
  CHECK((slow.waits_for_stages() - quick.waits_for_stages()).value() == test::about(message, 0.001));
}

TEST_CASE("each stage has its times, and the breakdown is their mean") {
  const auto cluster = test::star(1, 4, "100000 GB/s", "0 us");
  const auto plan = test::pipeline_of(test::mlp(16, 4096, 1024), 4, 1, 8, pcg::ScheduleKind::one_f_one_b);
  const auto equal = sim::simulate_plan(plan, cluster, behaviours({true, true}, {false, false}));
  CHECK(equal.stages.size() == 4);
  CHECK(std::ranges::none_of(equal.notes, [](const base::Fact& f) { return f.code == "slow-stage"; }));
  double compute_s = 0;
  for (const sim::Breakdown& b : equal.stages) {
    CHECK(b.total().value() == test::about(equal.iteration_time.value(), 1e-12));
    compute_s += b.compute.value() / 4;
  }
  CHECK(equal.breakdown.compute.value() == test::about(compute_s));
  CHECK(equal.breakdown.total().value() == test::about(equal.iteration_time.value(), 1e-12));
}

TEST_CASE("behaviours at stage boundaries are those of the plan's schedule") {
  const auto cluster = test::star(1, 2, "5 GB/s");
  const auto time = [&](int chunks, BySchedule overlap, BySchedule host_waits) {
    const auto kind = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
    const auto plan = test::pipeline_of(test::mlp(8, 2048, 1024), 2 * chunks, chunks, 8, kind);
    return sim::simulate_plan(plan, cluster, behaviours(overlap, host_waits, 1e-3)).iteration_time.value();
  };
  constexpr BySchedule kNever{false, false}, kAlways{true, true};
  CHECK(time(1, {.plain = false, .interleaved = true}, {.plain = true, .interleaved = false}) == time(1, kNever, kAlways));
  CHECK(time(2, {.plain = false, .interleaved = true}, {.plain = true, .interleaved = false}) == time(2, kAlways, kNever));
  CHECK(time(1, kNever, kAlways) > time(1, kAlways, kNever));
  CHECK(time(2, kNever, kAlways) > time(2, kAlways, kNever));
}

TEST_CASE("interleaved chunks that overlap their messages pay for those that nothing runs beside") {
  // Two stages of two chunks of four layers, eight micro-batches. Overlapped, a message of a steady state travels beside the next chunk's
  // products, so messages that take a tenth of a chunk add few of their times: those of the first micro-batch's way through the chunks and
  // of the last one's way back, 2 x 3. Held up, each of the eight micro-batches pays on both devices for what these send: of 3 boundaries
  // forward and 3 backward the first device sends 3.
  const auto seconds = [](bool overlap, const std::string& bandwidth) {
    const auto plan = test::pipeline_of(test::mlp(16, 4096, 4096), 4, 2, 8, pcg::ScheduleKind::interleaved);
    return sim::simulate_plan(plan, test::star(1, 2, bandwidth, "0 us"), behaviours({overlap, overlap}, {false, false}))
        .iteration_time.value();
  };
  const double message = 4096.0 * 4096 * 4 / 20e9;
  const double overlapped = (seconds(true, "20 GB/s") - seconds(true, "100000 GB/s")) / message;
  const double held_up = (seconds(false, "20 GB/s") - seconds(false, "100000 GB/s")) / message;
  CHECK(overlapped <= 6.01);
  CHECK(held_up >= 3 * 8);
}
