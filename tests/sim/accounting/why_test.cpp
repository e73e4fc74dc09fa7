// Critical paths and the use of links: closed forms, and what holds for any plan.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "sim/accounting/account.hpp"
#include "sim/accounting/steady_state.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"
#include "tests/sim/plan_builder.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

std::map<std::string, double> path_by_name(const sim::SimulationResult& r) {
  std::map<std::string, double> seconds;
  for (const sim::PathPart& p : r.critical_path) seconds[p.what.name] += p.time.value();
  return seconds;
}

double path_total(const sim::SimulationResult& r) {
  return std::accumulate(r.critical_path.begin(), r.critical_path.end(), 0.0,
                         [](double sum, const sim::PathPart& p) { return sum + p.time.value(); });
}

// Data parallelism, pipelines of all schedules, and pipelines of data-parallel stages.
pcg::Plan any_plan(int gpus) {
  const std::int64_t width = 64 << *rc::gen::inRange(0, 5);
  const auto kind = *rc::gen::element(pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::interleaved,
                                      pcg::ScheduleKind::breadth_first, pcg::ScheduleKind::zero_bubble, pcg::ScheduleKind::two_bw);
  pcg::Plan plan;
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      plan = test::plan_of(test::mlp(4, width, 2 * gpus), {{"*", {{"b", gpus}}}}, gpus);
      plan.zero = *rc::gen::inRange(0, 4);
      plan.micro_batches = *rc::gen::inRange(1, 40);
      plan.training.global_batch = 2 * gpus * plan.micro_batches;
      break;
    case 1: {
      const bool chunked = kind == pcg::ScheduleKind::interleaved || kind == pcg::ScheduleKind::breadth_first;
      const int chunks = chunked ? 2 : 1;
      plan = test::pipeline_of(test::mlp(2 * gpus + *rc::gen::inRange(0, 3), width, 4), gpus * chunks, chunks,
                               gpus * *rc::gen::inRange(1, 30), kind);
      break;
    }
    default: plan = test::two_stages_of(test::mlp(5, width, 2 * gpus), gpus / 2, 3, *rc::gen::inRange(2, 60));
  }
  plan.training.framework = *rc::gen::element(pcg::Framework::generic, pcg::Framework::megatron, pcg::Framework::deepspeed);
  return plan;
}

struct AnyCase {
  pcg::Plan plan;
  topology::Cluster cluster;
};
AnyCase any_case() {
  const int nodes = *rc::gen::element(1, 2), gpus = *rc::gen::element(2, 4);
  return {any_plan(nodes * gpus), test::star(nodes, gpus, std::to_string(*rc::gen::element(1, 10, 100)) + " GB/s", "2 us")};
}

}  // namespace

TEST_CASE("the tasks of a critical path follow each other without a gap, from the begin of the iteration to its end") {
  CHECK(rc::check("critical tasks", [] {
    const auto [plan, cluster] = any_case();
    const auto program = sim::lower(plan, sim::dataflow_of(plan), cluster, profiles::framework_profile(plan.training.framework));
    const auto traffic = sim::traffic_of(program, cluster, {});
    const auto folded = sim::fold(program, traffic, cluster);
    const auto unrolled = sim::unroll(program, folded, plan, plan.micro_batches, cluster);
    const auto timeline = sim::simulate(unrolled.graph);
    const sim::Accounts a{plan, cluster, program, traffic, folded, unrolled, timeline};
    const sim::Predecessors predecessors(a);
    double now = 0;
    for (const std::uint32_t task : sim::critical_tasks(a, predecessors)) {
      RC_ASSERT(timeline.start[task].value() == now);
      RC_ASSERT(timeline.end[task] >= timeline.start[task]);
      now = timeline.end[task].value();
    }
    RC_ASSERT(now == timeline.makespan.value());
  }));
}

TEST_CASE("the parts of a critical path add up to the iteration time, however it was simulated") {
  CHECK(rc::check("sum of the path", [] {
    const auto [plan, cluster] = any_case();
    const sim::SimulationResult r = sim::simulate_plan(plan, cluster);
    RC_TAG(r.simulated_micro_batches ? "extrapolated" : "simulated whole");
    for (const sim::PathPart& p : r.critical_path) {
      RC_ASSERT(p.time.value() > 0);
      RC_ASSERT(p.what.kind != sim::PathKind::wait);
      const bool moves = p.what.kind == sim::PathKind::collective || p.what.kind == sim::PathKind::transfer;
      RC_ASSERT(p.what.link.empty() != moves);
    }
    RC_ASSERT(std::abs(path_total(r) / r.iteration_time.value() - 1) < 1e-9);
  }));
}

TEST_CASE("1F1B over equal stages: the last stage is never idle once the first micro-batch is there") {
  // p stages of one layer each, m micro-batches, messages that take next to no time. The first micro-batch goes forward through p - 1
  // stages; the last stage, which has the loss and is the slowest, takes m slots of forward, loss and backward; the last micro-batch goes
  // backward through p - 1 stages, of which the first one has no gradient of its input: m + p - 1 slots (Narayanan et al., SC'21, 2.2).
  constexpr int p = 4, m = 10;
  constexpr std::int64_t width = 2048, batch = 512;
  const auto cluster = test::star(1, p, "1000000 GB/s", "0 us");
  auto one =
      path_by_name(sim::simulate_plan(test::pipeline_of(test::mlp(2, width, batch), 1, 1, 1, pcg::ScheduleKind::one_f_one_b), cluster));
  const auto r = sim::simulate_plan(test::pipeline_of(test::mlp(p, width, batch), p, 1, m, pcg::ScheduleKind::one_f_one_b), cluster);
  auto path = path_by_name(r);
  CHECK(path["linear forward"] == test::about((m + p - 1) * one["linear forward"] / 2));
  CHECK(path["linear weight gradient"] == test::about((m + p - 1) * one["linear weight gradient"] / 2));
  CHECK(path["linear input gradient"] == test::about((m + p - 2) * one["linear input gradient"]));
  CHECK(path["squared_error forward"] == test::about(m * one["squared_error forward"]));
  // A message from each stage to the next and one back, each over a wire to the switch and one from there at full speed.
  const double message = static_cast<double>(batch * width) * 4 / 1e15;
  CHECK(path["send (stage boundary)"] + path["send (stage boundary gradient)"] == test::about(2 * (p - 1) * message, 1e-6));
  CHECK(path_total(r) == test::about(r.iteration_time.value()));
}

TEST_CASE("data parallelism without overlap: the computation, then all of the all-reduce") {
  // Two devices, an all-reduce of S bytes at B: S / B over each of the four wires to the switch and back (ring: 2 (n - 1) / n S).
  constexpr std::int64_t width = 1024;
  constexpr double bandwidth = 10e9, bytes = 3 * width * width * 4;
  auto plan = test::plan_of(test::mlp(3, width, 64), {{"*", {{"b", 2}}}}, 2);
  plan.overlap.gradients = false;
  const auto r = sim::simulate_plan(plan, test::star(1, 2, "10 GB/s", "0 us"));
  const double sent = bytes / bandwidth, time = r.iteration_time.value();
  base::Seconds collective, others;
  for (const sim::PathPart& p : r.critical_path) {
    (p.what.kind == sim::PathKind::collective ? collective : others) += p.time;
    if (p.what.kind == sim::PathKind::collective) CHECK(p.what == sim::OnPath{sim::PathKind::collective, "all_reduce (gradients)", "wire"});
  }
  CHECK(collective.value() == test::about(sent, 1e-6));
  CHECK(collective.value() == test::about(r.breakdown.exposed_communication.value()));
  CHECK(others.value() == test::about((r.breakdown.compute + r.breakdown.idle).value()));  // idle: until the first launch

  REQUIRE(r.links.size() == 1);
  const sim::LinkUse& wires = r.links.front();
  CHECK(wires.type == "wire");
  CHECK(wires.count == 4);
  CHECK(wires.carried.value() == test::about(4 * bytes));
  CHECK(wires.bytes.value() == test::about(2 * bytes));  // each device's flows cross two wires
  CHECK(wires.busy == test::about(sent / time));
  CHECK(wires.busiest == test::about(sent / time));
  // The wires are full from the end of the backward pass to the update, and idle before and after.
  REQUIRE(wires.over_time.size() == sim::kUseIntervals);
  CHECK(wires.over_time.front() == 0);
  CHECK(std::ranges::count_if(wires.over_time, [](double u) { return u > 0 && u < 1 - 1e-9; }) <= 2);
  CHECK(std::ranges::max(wires.over_time) == test::about(1));
}

TEST_CASE("links carry over time what they carry in all") {
  CHECK(rc::check("use of links", [] {
    const auto [plan, cluster] = any_case();
    const sim::SimulationResult r = sim::simulate_plan(plan, cluster);
    RC_TAG(r.simulated_micro_batches ? "extrapolated" : "simulated whole");
    RC_ASSERT(r.links.size() == r.bytes.by_link.size());
    for (const sim::LinkUse& l : r.links) {
      RC_ASSERT(l.bytes == r.bytes.by_link.at(l.type));
      const base::Seconds interval = r.iteration_time / sim::kUseIntervals;
      double carried = 0;
      for (const double u : l.over_time) {
        RC_ASSERT(u >= 0);
        RC_ASSERT(u <= 1 + 1e-9);
        carried += u * (l.bandwidth * interval).value();
      }
      RC_ASSERT(std::abs(carried / l.carried.value() - 1) < 1e-9);
      RC_ASSERT(std::abs(l.busy - l.carried / (l.bandwidth * r.iteration_time)) < 1e-9);
      RC_ASSERT(l.busiest >= l.busy * (1 - 1e-9));
      RC_ASSERT(l.busiest <= 1 + 1e-9);
    }
    if (!r.links.empty()) RC_ASSERT(r.busiest_link->busy == r.links.front().busiest);
  }));
}

TEST_CASE("folding and leaving out repeated micro-batches change neither the use of links nor the length of the path") {
  CHECK(rc::check("folded and extrapolated", [] {
    const auto [plan, cluster] = any_case();
    const sim::SimulationResult few = sim::simulate_plan(plan, cluster);
    sim::SimulationConfig config;
    config.fold = config.extrapolate = false;
    const sim::SimulationResult all = sim::simulate_plan(plan, cluster, config);
    RC_TAG(few.simulated_micro_batches ? "extrapolated" : "simulated whole");
    RC_ASSERT(std::abs(path_total(few) - path_total(all)) < 1e-8 * path_total(all));
    RC_ASSERT(few.links.size() == all.links.size());
    for (std::size_t i = 0; i < all.links.size(); ++i) {
      const sim::LinkUse &x = few.links[i], &y = all.links[i];
      RC_ASSERT(x.type == y.type);
      RC_ASSERT(x.count == y.count);
      RC_ASSERT(std::abs(x.carried / y.carried - 1) < 1e-9);
      RC_ASSERT(std::abs(x.busiest - y.busiest) < 1e-8);
      for (std::size_t k = 0; k < y.over_time.size(); ++k) RC_ASSERT(std::abs(x.over_time[k] - y.over_time[k]) < 1e-4);
    }
  }));
}

TEST_CASE("an iteration that is played back") {
  // 10 s were simulated; the stretch from 2 s to 4 s comes three times more, that from 6 s to 7 s as well: 19 s in all.
  const sim::Playback playback{0, {{2, 2, 3}, {6, 1, 3}}};
  const auto at = [&](double time_s) { return sim::moment_of(playback, time_s); };
  CHECK(at(1).at_s == 1);
  CHECK(at(3).copies == std::vector<double>{0, 0});
  CHECK(at(5).at_s == 3);  // in the first copy
  CHECK(at(5).copies == std::vector<double>{1, 0});
  CHECK(at(9.5).at_s == 3.5);
  CHECK(at(9.5).copies == std::vector<double>{3, 0});
  CHECK(at(11).at_s == 5);
  CHECK(at(13.5).at_s == 6.5);
  CHECK(at(13.5).copies == std::vector<double>{3, 1});
  CHECK(at(19).at_s == 10);
  CHECK(at(19).copies == std::vector<double>{3, 3});
}
