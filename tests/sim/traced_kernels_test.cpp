// The kernels of a traced iteration: those of every device, each span's in proportion to what they take alone.
#include <doctest/doctest.h>

#include "plan_builder.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

sim::SimulationResult with_spans(const pcg::Plan& plan, const topology::Cluster& cluster) {
  return sim::simulate_plan(plan, cluster, {.trace = true});
}

double seconds_of(const sim::SimulationResult& r, std::uint32_t device) {
  double s = 0;
  for (const sim::Span& span : r.spans) s += span.device == device && span.work.computes() ? span.duration.value() : 0;
  return s;
}

std::int64_t count_of(const sim::SimulationResult& r, std::uint32_t device, pcg::KernelKind kind) {
  std::int64_t n = 0;
  for (const sim::Span& span : r.spans)
    if (span.device == device && span.work.computes())
      for (const sim::TimedKernel& k : r.kernels.at(span.work.kernels)) n += k.kernel.kind == kind ? k.kernel.serial_launches : 0;
  return n;
}

}  // namespace

TEST_CASE("the kernels of a device add up to the time that it computes") {
  const auto cluster = test::star(1, 1);
  const auto plan = test::plan_of(test::mlp(2, 4096, 1024), {}, 1);
  const auto r = with_spans(plan, cluster);
  CHECK(seconds_of(r, 0) == test::about(sim::simulate_plan(plan, cluster).breakdown.compute.value()));
  // Two products forward, two of weights' gradients, one of an input's: the first layer's input is data.
  CHECK(count_of(r, 0, pcg::KernelKind::matmul) == 5);
  CHECK(count_of(r, 0, pcg::KernelKind::optimizer) == 1);
}

TEST_CASE("a stage of a pipeline has its own kernels, of every micro-batch") {
  const auto cluster = test::star(1, 2);
  const auto plan = test::pipeline_of(test::mlp(3, 4096, 1024), 2, 1, 4, pcg::ScheduleKind::one_f_one_b);
  const auto r = with_spans(plan, cluster);
  REQUIRE(r.stages.size() == 2);
  std::int64_t products = 0;
  for (const std::uint32_t d : {0U, 1U}) {
    CHECK(seconds_of(r, d) == test::about(r.stages[d].compute.value()));
    products += count_of(r, d, pcg::KernelKind::matmul);
  }
  CHECK(products == 4 * (3 + 3 + 2));  // micro-batches x (forward + weights' gradients + inputs' gradients)
}
