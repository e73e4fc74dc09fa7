// Properties of the simulator that hold for any plan, with the seed that ctest fixes.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "plan_builder.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/simulation.hpp"
#include "sim/unrolling/unroll.hpp"

namespace {

struct Drawn {
  pcg::Plan plan;
  int nodes = 1, gpus = 1;
};

// Data-parallel plans over all devices, or pipelines over some, of small MLPs.
Drawn draw_plan() {
  Drawn d;
  d.nodes = *rc::gen::inRange(1, 4);
  d.gpus = *rc::gen::inRange(1, 5);
  const int n = d.nodes * d.gpus;
  const std::int64_t width = 32 << *rc::gen::inRange(0, 4);
  if (*rc::gen::arbitrary<bool>() || n == 1) {
    d.plan = test::plan_of(test::mlp(4, width, 2 * n), {{"*", {{"b", n}}}}, n);
    d.plan.zero = *rc::gen::inRange(0, 4);
    for (int b = 0; d.plan.zero > 0 && b < static_cast<int>(d.plan.pcg.blocks().size()); ++b)
      if (*rc::gen::arbitrary<bool>()) d.plan.memory.zero.blocks.push_back(b);
    d.plan.micro_batches = *rc::gen::inRange(1, 4);
    d.plan.training.global_batch = 2 * n * d.plan.micro_batches;
  } else {
    const auto kind = *rc::gen::element(pcg::ScheduleKind::gpipe, pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::interleaved,
                                        pcg::ScheduleKind::breadth_first, pcg::ScheduleKind::zero_bubble);
    const int chunks = kind == pcg::ScheduleKind::interleaved || kind == pcg::ScheduleKind::breadth_first ? 2 : 1;
    d.plan = test::pipeline_of(test::mlp(2 * n, width, 4), n * chunks, chunks, n * *rc::gen::inRange(1, 4), kind);
  }
  return d;
}

topology::Cluster cluster_of(const Drawn& d, double gigabytes) {
  return test::star(d.nodes, d.gpus, std::to_string(gigabytes) + " GB/s", "2 us");
}

double time_of(const Drawn& d, double gigabytes) { return sim::simulate_plan(d.plan, cluster_of(d, gigabytes)).iteration_time.value(); }

}  // namespace

TEST_CASE("the makespan is at least the critical path, each device's work and each link's work") {
  CHECK(rc::check("lower bounds", [] {
    const Drawn d = draw_plan();
    const auto cluster = cluster_of(d, 1);
    const auto program = sim::lower(d.plan, sim::dataflow_of(d.plan), cluster, profiles::framework_profile(d.plan.training.framework));
    const auto traffic = sim::traffic_of(program, cluster, {});
    const auto folded = sim::fold(program, traffic, cluster);
    const auto u = sim::unroll(program, folded, d.plan, d.plan.micro_batches, cluster);
    const auto& g = u.graph;
    const auto t = sim::simulate(g);
    std::vector<double> device(g.slowdown.size(), 0), link(g.links.size(), 0), alone(g.steps.size(), 0);
    for (std::size_t s = 0; s < g.steps.size(); ++s) {
      for (const auto& phase : g.steps[s].phases) {
        double longest = 0;
        for (const auto& f : phase.flows) {
          for (const auto& l : g.routes[f.route]) longest = std::max(longest, f.bytes.value() * l.weight / g.links[l.link].value());
        }
        alone[s] += phase.delay.value() + longest;
      }
    }
    for (std::size_t i = 0; i < g.tasks.size(); ++i) {
      const auto& task = g.tasks[i];
      for (std::uint32_t s = task.streams_begin; s < task.streams_end; ++s) {
        const std::uint32_t at = g.streams[g.task_streams[s]].device;
        if (g.task_streams[s] == sim::number_of({at, sim::StreamKind::compute})) device[at] += alone[task.step];
      }
      for (const auto& phase : g.steps[task.step].phases) {
        for (const auto& f : phase.flows) {
          for (const auto& l : g.routes[f.route]) link[l.link] += f.bytes.value() * l.weight / g.links[l.link].value();
        }
      }
      // every task lasts at least as long as alone, and starts after what it waits for
      RC_ASSERT((t.end[i] - t.start[i]).value() >= alone[task.step] * (1 - 1e-9) - 1e-15);
      for (std::uint32_t k = task.dependencies_begin; k < task.dependencies_end; ++k)
        RC_ASSERT(t.start[i].value() >= t.end[g.task_dependencies[k]].value() - 1e-15);
    }
    for (double work : device) RC_ASSERT(t.makespan.value() >= work * (1 - 1e-9));
    for (double work : link) RC_ASSERT(t.makespan.value() >= work * (1 - 1e-9));
  }));
}

TEST_CASE("more bandwidth never slows a plan") {
  // Data-parallel plans have one collective at a time, and pipelines' messages have their wires to themselves, so nothing contends and the
  // time falls with bandwidth. Under contention a scheduling anomaly is possible (a faster early flow may let a less urgent one in first,
  // as in Graham's anomalies, SIAM J. Appl. Math. 1969); 1 % is allowed for it.
  CHECK(rc::check("bandwidth", [] {
    const Drawn d = draw_plan();
    const double slow = *rc::gen::inRange(1, 20);
    RC_ASSERT(time_of(d, 4 * slow) <= time_of(d, slow) * 1.01);
  }));
}

TEST_CASE("exposed communication is all of some collective, and all over some link") {
  CHECK(rc::check("parts of exposed communication", [] {
    const Drawn d = draw_plan();
    const sim::Breakdown b = sim::simulate_plan(d.plan, cluster_of(d, 1)).breakdown;
    for (const auto* parts : {&b.exposed_by_collective, &b.exposed_by_link}) {
      base::Seconds sum;
      for (const auto& [name, seconds] : *parts) {
        RC_ASSERT(seconds > base::Seconds());
        sum += seconds;
      }
      RC_ASSERT(std::abs((sum - b.exposed_communication).value()) <= 1e-9 * b.exposed_communication.value());
    }
  }));
}

TEST_CASE("a plan and its device-permuted twin take the same time on a symmetric cluster") {
  CHECK(rc::check("permutation", [] {
    Drawn d = draw_plan();
    const int n = d.nodes * d.gpus;
    // Whole nodes change places, and devices within every node alike: automorphisms of the star.
    std::vector<std::uint32_t> node(static_cast<std::size_t>(d.nodes)), place(static_cast<std::size_t>(d.gpus));
    for (std::size_t i = 0; i < node.size(); ++i) node[i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < place.size(); ++i) place[i] = static_cast<std::uint32_t>(i);
    std::rotate(node.begin(), node.begin() + *rc::gen::inRange(0, d.nodes), node.end());
    std::rotate(place.begin(), place.begin() + *rc::gen::inRange(0, d.gpus), place.end());
    const double before = time_of(d, 5);
    for (std::size_t i = 0; i < d.plan.mapping.size(); ++i) {
      const auto& pcg_node = d.plan.pcg.nodes()[i];
      if (!pcg_node.computes()) continue;
      auto devices = pcg::devices_of(d.plan.mapping[i], pcg_node.sharding);
      for (auto& x : devices) {
        const auto g = static_cast<std::uint32_t>(d.gpus);
        x = base::DeviceId(node[x.value / g] * g + place[x.value % g]);
      }
      d.plan.mapping[i] = {{}, {}, devices};
    }
    d.plan.gpus = n;
    RC_ASSERT(std::abs(time_of(d, 5) / before - 1) < 1e-9);
  }));
}

TEST_CASE("the same plan gives the same bytes") {
  const auto cluster = test::star(2, 3);
  const auto plan = test::plan_of(test::mlp(4, 64, 12), {{"*", {{"b", 6}}}}, 6);
  const auto a = sim::simulate_plan(plan, cluster), b = sim::simulate_plan(plan, cluster);
  CHECK(a.iteration_time == b.iteration_time);
  CHECK(a.breakdown.compute == b.breakdown.compute);
}

TEST_CASE("faster devices never slow a plan where nothing contends") {
  CHECK(rc::check("devices", [] {
    const Drawn d = draw_plan();
    // The same fitted shares of what the data sheets say, and the second's say more.
    const auto slow = test::star(d.nodes, d.gpus, "5 GB/s", "2 us", "a100-sxm-40gb");
    const auto fast = test::star(d.nodes, d.gpus, "5 GB/s", "2 us", "a100-sxm-80gb");
    RC_ASSERT(sim::simulate_plan(d.plan, fast).iteration_time.value() <= sim::simulate_plan(d.plan, slow).iteration_time.value() * 1.01);
  }));
}
