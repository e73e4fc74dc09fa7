#include "sim/simulation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "pcg/work/saved.hpp"
#include "profiles/network_profile.hpp"
#include "sim/accounting/breakdown.hpp"
#include "sim/accounting/communication.hpp"
#include "sim/accounting/memory_samples.hpp"
#include "sim/accounting/trace.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/lowering/lower.hpp"

namespace sim {
namespace {

// The kernel seconds of one iteration on all simulated devices by what they rest on.
profiles::ByBasis<base::Seconds> compute_by_basis(const Unrolled& unrolled) {
  profiles::ByBasis<base::Seconds> sums;
  for (const BlockInstance& instance : unrolled.instances)
    for (const Entry& e : unrolled.blocks[instance.block].entries)
      if (const auto* run = std::get_if<KernelRun>(&e.work))
        for (const profiles::Basis b : profiles::kBases) sums[b] += run->by_basis[b];
  return sums;
}

std::string network_note(const std::string& name, const CommunicationBytes& bytes) {
  if (name.empty()) return "no network profile: collectives take the wires' latency and bandwidth alone";
  std::string unknown;
  for (const auto& [type, moved] : bytes.by_link)
    if (!profiles::network_profile(name).knows(type)) unknown += (unknown.empty() ? "" : ", ") + type;
  return fmt::format("network profile {}{}{}", name, unknown.empty() ? "" : "; it says nothing of ", unknown);
}

// What the forecast rests on besides kernels: one line each, where there is something to rest on.
void tell_profiles(const topology::Cluster& cluster, const profiles::FrameworkProfile& framework, SimulationResult& r) {
  if (r.bytes.total.value() > 0) r.notes.push_back(network_note(cluster.network_profile(), r.bytes));
  profiles::HostCosts none;
  none.basis = framework.host.basis;
  if (framework.host == none) return;
  constexpr std::array kBasis = {"an assumption", "partly an assumption", "fitted to measured iterations"};
  r.notes.push_back(fmt::format("host times of {}: {}", pcg::framework_names()[static_cast<std::size_t>(framework.framework)],
                                kBasis[static_cast<std::size_t>(framework.host.basis)]));
}

void tell_recomputation(const pcg::Plan& plan, SimulationResult& r) {
  const auto keeps_scores = [](const pcg::PcgNode& n) { return n.computes() && pcg::keeps_scores(*n.operation()); };
  if (plan.recompute == pcg::Recompute::selective && std::ranges::none_of(plan.pcg.nodes(), keeps_scores))
    r.notes.emplace_back("recompute: selective changes nothing, because no attention of this model keeps its scores");
}

}  // namespace

SimulationResult simulate_plan(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  BASE_CHECK(plan.gpus <= cluster.device_count(), "plan {} uses {} devices of {}", plan.name, plan.gpus, cluster.device_count());
  const auto& framework = framework_of(plan.training, config);
  const Dataflow dataflow = dataflow_of(plan);
  const Program program = lower(plan, dataflow, cluster, framework);
  const Traffic traffic = traffic_of(program, cluster, config.collectives);
  const Folded folded = config.fold ? fold(program, traffic, cluster) : without_folding(program, traffic, cluster);
  const Unrolled unrolled = unroll(program, folded, plan, cluster);
  const Timeline timeline = simulate(unrolled.graph);
  const Accounts accounts{plan, cluster, program, traffic, folded, unrolled, timeline};
  const auto memory = device_memory(plan, dataflow, cluster, framework);

  SimulationResult r;
  r.iteration_time = timeline.makespan;
  r.breakdown = break_down(accounts);
  r.bytes = count_bytes(accounts);
  r.busiest_link = busiest_link(accounts);
  r.memory = peak_memory(plan, memory, cluster);
  for (std::uint32_t n : folded.sizes) r.devices += static_cast<int>(n);
  r.simulated_devices = static_cast<int>(folded.sizes.size());
  r.activities = timeline.activities;
  r.compute_by_basis = compute_by_basis(unrolled);
  r.notes = program.notes;
  tell_recomputation(plan, r);
  tell_profiles(cluster, framework, r);
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
