#include "sim/kernel_sums.hpp"

#include <doctest/doctest.h>

#include "plan_builder.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

double seconds_of(const std::vector<sim::KernelSum>& sums) {
  double s = 0;
  for (const sim::KernelSum& k : sums) s += k.time.value();
  return s;
}

double count_of(const std::vector<sim::KernelSum>& sums, pcg::KernelKind kind) {
  double n = 0;
  for (const sim::KernelSum& k : sums) n += k.kind == kind ? k.count : 0;
  return n;
}

}  // namespace

TEST_CASE("the kernels of a device add up to the time that it computes") {
  const auto cluster = test::star(1, 1);
  const auto plan = test::plan_of(test::mlp(2, 4096, 1024), {}, 1);
  const auto sums = sim::kernel_sums(plan, cluster, base::DeviceId(0));
  CHECK(seconds_of(sums) == test::about(sim::simulate_plan(plan, cluster).breakdown.compute.value()));
  // Two products forward, two of weights' gradients, one of an input's: the first layer's input is data.
  CHECK(count_of(sums, pcg::KernelKind::matmul) == 5);
  CHECK(count_of(sums, pcg::KernelKind::optimizer) == 1);
}

TEST_CASE("a stage of a pipeline has its own kernels, of every micro-batch") {
  const auto cluster = test::star(1, 2);
  const auto plan = test::pipeline_of(test::mlp(3, 4096, 1024), 2, 1, 4, pcg::ScheduleKind::one_f_one_b);
  const auto r = sim::simulate_plan(plan, cluster);
  REQUIRE(r.stages.size() == 2);
  double products = 0;
  for (const std::size_t d : {0, 1}) {
    const auto sums = sim::kernel_sums(plan, cluster, base::DeviceId(d));
    CHECK(seconds_of(sums) == test::about(r.stages[d].compute.value()));
    products += count_of(sums, pcg::KernelKind::matmul);
  }
  CHECK(products == 4 * (3 + 3 + 2));  // micro-batches x (forward + weights' gradients + inputs' gradients)
}
