// Iterations whose micro-batches are extrapolated, against the same with every micro-batch simulated.
#include "sim/accounting/steady_state.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "plan_builder.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

using pcg::ScheduleKind;

sim::SimulationResult simulated(const pcg::Plan& plan, const topology::Cluster& cluster, bool extrapolate) {
  sim::SimulationConfig config;
  config.extrapolate = extrapolate;
  return sim::simulate_plan(plan, cluster, config);
}

bool near(double a, double b, double scale) { return std::abs(a - b) <= 1e-8 * scale; }

// Times within rounding, bytes and memory equal.
bool same(const sim::SimulationResult& a, const sim::SimulationResult& b) {
  const double t = b.iteration_time.value();
  const auto near_time = [t](base::Seconds x, base::Seconds y) { return near(x.value(), y.value(), t); };
  const bool breakdown = near_time(a.breakdown.compute, b.breakdown.compute) &&
                         near_time(a.breakdown.exposed_communication, b.breakdown.exposed_communication) &&
                         near_time(a.breakdown.bubble, b.breakdown.bubble) && near_time(a.breakdown.imbalance, b.breakdown.imbalance) &&
                         near_time(a.breakdown.idle, b.breakdown.idle);
  const auto near_times = [&](const std::map<std::string, base::Seconds>& x, const std::map<std::string, base::Seconds>& y) {
    return std::ranges::all_of(y, [&](const auto& of) { return x.contains(of.first) && near_time(x.at(of.first), of.second); });
  };
  const bool exposed = near_times(a.breakdown.exposed_by_collective, b.breakdown.exposed_by_collective) &&
                       near_times(a.breakdown.exposed_by_link, b.breakdown.exposed_by_link);
  const bool link =
      a.busiest_link.has_value() == b.busiest_link.has_value() &&
      (!a.busiest_link || (a.busiest_link->name == b.busiest_link->name && near(a.busiest_link->busy, b.busiest_link->busy, 1)));
  return near_time(a.iteration_time, b.iteration_time) && breakdown && exposed && link && a.memory.peak == b.memory.peak &&
         near(a.bytes.total.value(), b.bytes.total.value(), b.bytes.total.value());
}

bool is_extrapolated(const sim::SimulationResult& r) { return std::ranges::count(r.notes, "folded-micro-batches", &base::Fact::code) == 1; }

}  // namespace

TEST_CASE("a pipeline repeats itself: further micro-batches take what a period of them takes") {
  // Rank 0 of four is three micro-batches ahead: the circuit forward to the last rank and back has three of them on it, which makes a
  // period of three. 2001 micro-batches more are 667 periods more.
  const topology::Cluster cluster = test::star(1, 4);
  const auto at = [&](int m, bool extrapolate) {
    return simulated(test::pipeline_of(test::mlp(8, 2048, 1024), 4, 1, m, ScheduleKind::one_f_one_b), cluster, extrapolate);
  };
  const sim::SimulationResult r = at(2301, true);
  CHECK(is_extrapolated(r));
  CHECK(!is_extrapolated(at(2301, false)));
  CHECK(same(r, at(2301, false)));
  const double begin = at(300, false).iteration_time.value(), period = at(303, false).iteration_time.value() - begin;
  CHECK(r.iteration_time.value() - begin == test::about(667 * period));
}

TEST_CASE("no micro-batch is left out where there are few, or where a trace is wanted") {
  const topology::Cluster cluster = test::star(1, 4);
  CHECK(!is_extrapolated(simulated(test::pipeline_of(test::mlp(8, 2048, 1024), 4, 1, 40, ScheduleKind::one_f_one_b), cluster, true)));
  sim::SimulationConfig config;
  config.trace = true;
  const auto traced = sim::simulate_plan(test::pipeline_of(test::mlp(2, 64, 64), 1, 1, 200, ScheduleKind::one_f_one_b), cluster, config);
  CHECK(!is_extrapolated(traced));
  CHECK(is_extrapolated(simulated(test::pipeline_of(test::mlp(2, 64, 64), 1, 1, 200, ScheduleKind::one_f_one_b), cluster, true)));
}

TEST_CASE("what is extrapolated is what would be simulated") {
  CHECK(rc::check("extrapolated", [] {
    const auto kind = *rc::gen::element(ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved, ScheduleKind::flexible,
                                        ScheduleKind::breadth_first, ScheduleKind::zero_bubble);
    const bool chunked = kind == ScheduleKind::interleaved || kind == ScheduleKind::flexible || kind == ScheduleKind::breadth_first;
    const int pipeline = *rc::gen::inRange(chunked ? 2 : 1, 4), chunks = chunked ? 2 : 1;
    // Layers that do not divide make stages of unequal length; slow wires make messages that count.
    const int layers = pipeline * chunks + *rc::gen::inRange(0, 3);
    const auto cluster = test::star(1, pipeline, std::to_string(*rc::gen::element(1, 10, 100)) + " GB/s", "5 us");
    auto plan = test::pipeline_of(test::mlp(layers, 256 * *rc::gen::inRange(1, 6), 64), pipeline * chunks, chunks,
                                  pipeline * *rc::gen::inRange(20, 200), kind);
    plan.training.framework = *rc::gen::element(pcg::Framework::generic, pcg::Framework::megatron, pcg::Framework::deepspeed);
    if (kind == ScheduleKind::flexible || kind == ScheduleKind::interleaved) plan.lean_warm_up = *rc::gen::arbitrary<bool>();
    if (kind == ScheduleKind::flexible) plan.micro_batch_group = pipeline + *rc::gen::inRange(0, 3);
    plan.zero = *rc::gen::inRange(0, 4);
    plan.recompute = *rc::gen::element(pcg::Recompute::none, pcg::Recompute::full);
    const sim::SimulationResult few = simulated(plan, cluster, true), all = simulated(plan, cluster, false);
    RC_TAG(is_extrapolated(few) ? "extrapolated" : "simulated whole");
    RC_ASSERT(same(few, all));
  }));
}
