#pragma once
// What a simulated iteration was made of: bytes, where the critical device's time went, spans for a trace.

#include <span>
#include <vector>

#include "sim/memory/memory.hpp"
#include "sim/results/simulation_config.hpp"
#include "sim/results/simulation_result.hpp"
#include "sim/unrolling/unroll.hpp"

namespace sim {

// What the accounts look at; all of one simulation.
struct Accounts {
  const pcg::Plan& plan;
  const topology::Cluster& cluster;
  const Program& program;
  const Traffic& traffic;
  const Folded& folded;
  const Unrolled& unrolled;
  const Timeline& timeline;
};

// Of all devices, folded ones counted in full. O(instances x entries).
[[nodiscard]] CommunicationBytes count_bytes(const Accounts& a);
// O(instances x entries x flows).
[[nodiscard]] std::optional<BusiestLink> busiest_link(const Accounts& a);
// Of the critical device; adds up to the makespan. O(tasks).
[[nodiscard]] Breakdown break_down(const Accounts& a);
// One span per kernel group of an operator and per transfer, of the simulated devices; by device, stream, start.
[[nodiscard]] std::vector<Span> spans_of(const Accounts& a);
// Model states from the start, activations as micro-batches come and go, of the simulated devices.
[[nodiscard]] std::vector<MemorySample> memory_samples(const Accounts& a, std::span<const DeviceMemory> devices);

}  // namespace sim
