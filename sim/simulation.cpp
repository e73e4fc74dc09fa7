#include "sim/simulation.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"
#include "sim/accounting/accounting.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/lowering/lower.hpp"

namespace sim {
namespace {

// How many kernel seconds rest on what, over the simulated devices of one iteration.
void count_basis(const Accounts& a, SimulationResult& r) {
  base::Seconds compute;
  for (const BlockInstance& instance : a.unrolled.instances) {
    for (const Entry& e : a.unrolled.blocks[instance.block].entries) {
      if (e.is_run()) compute += e.seconds;
    }
  }
  double all = 0;
  for (double s : a.program.seconds_by_basis) all += s;
  for (std::size_t b = 0; b < 3 && all > 0; ++b) r.compute_by_basis[b] = compute * (a.program.seconds_by_basis[b] / all);
}

}  // namespace

const profiles::FrameworkProfile& framework_of(const pcg::Plan& plan, const SimulationConfig& config) {
  return config.framework ? *config.framework : profiles::framework_profile(plan.training.framework);
}

SimulationResult simulate_plan(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  BASE_CHECK(plan.gpus <= cluster.device_count(), "plan {} uses {} devices of {}", plan.name, plan.gpus, cluster.device_count());
  const auto& framework = framework_of(plan, config);
  const Program program = lower(plan, cluster, framework);
  const Traffic traffic = traffic_of(program, cluster, config.collectives);
  const Folded folded = fold(program, traffic, cluster, config.fold);
  const Unrolled unrolled = unroll(program, folded, plan, cluster);
  const Timeline timeline = simulate(unrolled.graph);
  const Accounts accounts{plan, cluster, program, traffic, folded, unrolled, timeline};
  const auto memory = device_memory(plan, flow_graph(plan), cluster, framework);

  SimulationResult r;
  r.iteration_time = timeline.makespan;
  r.breakdown = break_down(accounts);
  r.bytes = count_bytes(accounts);
  r.busiest_link = busiest_link(accounts);
  r.memory = peak_memory(plan, memory, cluster);
  for (std::uint32_t n : folded.sizes) r.devices += static_cast<int>(n);
  r.simulated_devices = static_cast<int>(folded.sizes.size());
  r.activities = timeline.activities;
  count_basis(accounts, r);
  r.notes = program.notes;
  if (r.simulated_devices < r.devices) {
    r.notes.push_back(
        fmt::format("{} devices simulated as {}: the others do the same in the same place (exact)", r.devices, r.simulated_devices));
  }
  if (config.trace) {
    r.spans = spans_of(accounts);
    r.memory_over_time = memory_samples(accounts, memory);
  }
  return r;
}

}  // namespace sim
