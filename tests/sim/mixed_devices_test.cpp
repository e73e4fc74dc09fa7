// A cluster of two types of nodes, one GPU each: what a simulation says of a device is that device's, not the first one's.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"
#include "tests/sim/plan_builder.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

// The first node has a GPU as `first` describes it, the second one as `second` does.
topology::Cluster mixed(const std::string& first, const std::string& second) {
  const auto node = [](const std::string& gpu) {
    return "{count: 1, gpus: {" + gpu + ", count: 1}, components: [nic0], wires: [{between: [gpu0, nic0], link: wire}]}";
  };
  return test::cluster_of("{name: mixed, links: {wire: {bandwidth: 100 GB/s, latency: 1 us}}, node_types: [" + node(first) + ", " +
                          node(second) + "], network: {type: switch, link: wire}}");
}

const std::string kOld = "type: v100-sxm2-16gb", kNew = "type: a100-sxm-40gb";

// Seconds that a device's kernels of the forward pass take; no collective slows them.
double forward_seconds(const sim::SimulationResult& r, std::uint32_t device) {
  double sum = 0;
  for (const sim::Span& s : r.spans)
    if (s.device == device && s.stream == "compute" && s.name.find(" forward") != std::string::npos) sum += s.duration.value();
  return sum;
}

sim::SimulationResult traced(const pcg::Plan& plan, const topology::Cluster& cluster) {
  return sim::simulate_plan(plan, cluster, {.fold = true, .trace = true, .collectives = {}});
}

}  // namespace

TEST_CASE("each of two devices takes the time of its own profile") {
  // Data parallelism over two devices: each runs what one alone does with half of the batch.
  const pcg::Plan half = test::plan_of(test::mlp(4, 2048, 1024), {}, 1),
                  both = test::plan_of(test::mlp(4, 2048, 2048), {{"*", {{"b", 2}}}}, 2);
  const double old_alone = forward_seconds(traced(half, test::star(1, 1, "100 GB/s", "1 us", "v100-sxm2-16gb")), 0);
  const double new_alone = forward_seconds(traced(half, test::star(1, 1, "100 GB/s", "1 us", "a100-sxm-40gb")), 0);
  REQUIRE(std::abs(old_alone / new_alone - 1) > 0.01);
  for (const bool old_first : {true, false}) {
    const sim::SimulationResult r = traced(both, old_first ? mixed(kOld, kNew) : mixed(kNew, kOld));
    CHECK(r.simulated_devices == 2);
    CHECK(forward_seconds(r, old_first ? 0 : 1) == test::about(old_alone));
    CHECK(forward_seconds(r, old_first ? 1 : 0) == test::about(new_alone));
  }
}

TEST_CASE("kernel seconds rest on what each device's profile says, not on the first one's") {
  // As above: each of the two devices runs what one alone does with half of the batch, and kernels beside the all-reduce count as they are
  // alone. So every basis has the seconds that it has on the one, and those that it has on the other.
  const pcg::Plan half = test::plan_of(test::mlp(4, 2048, 1024), {}, 1),
                  both = test::plan_of(test::mlp(4, 2048, 2048), {{"*", {{"b", 2}}}}, 2);
  const auto alone = [&](const char* gpu) { return sim::simulate_plan(half, test::star(1, 1, "100 GB/s", "1 us", gpu)).compute_by_basis; };
  const auto on_old = alone("v100-sxm2-16gb"), on_new = alone("a100-sxm-40gb");
  const auto share = [](const profiles::ByBasis<base::Seconds>& of) {
    base::Seconds all;
    for (const base::Seconds s : of) all += s;
    return of[profiles::Basis::defaults] / all;
  };
  REQUIRE(std::abs(share(on_old) - share(on_new)) > 0.01);  // else one device's shares could stand for both
  for (const bool old_first : {true, false}) {
    const sim::SimulationResult r = sim::simulate_plan(both, old_first ? mixed(kOld, kNew) : mixed(kNew, kOld));
    for (const profiles::Basis b : profiles::kBases) CHECK(r.compute_by_basis[b].value() == test::about((on_old[b] + on_new[b]).value()));
  }
}

TEST_CASE("the peak is that of the device that has least room left, wherever it is") {
  const pcg::Plan plan = test::plan_of(test::mlp(4, 1024, 64), {{"*", {{"b", 2}}}}, 2);
  const std::string less = kOld + ", memory: 4 GiB";
  const sim::MemoryUse second = sim::memory_of(plan, mixed(kOld, less)), first = sim::memory_of(plan, mixed(less, kOld));
  CHECK(second.device == base::DeviceId(1));
  CHECK(first.device == base::DeviceId(0));
  for (const sim::MemoryUse& use : {first, second}) CHECK(use.capacity == base::Bytes(4.0 * 1024 * 1024 * 1024));
  CHECK(first.peak == second.peak);  // both devices hold the same
}
