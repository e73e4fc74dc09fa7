#pragma once
// An iteration over time: how it uses its links, how much memory its devices hold, and what ran when, for a trace.

#include <span>
#include <vector>

#include "sim/accounting/account.hpp"
#include "sim/accounting/accounts.hpp"
#include "sim/accounting/steady_state.hpp"
#include "sim/memory/memory.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

// `whole`: the account of the iteration, of which `playback` says where it is found in the simulated one.
// A transfer's bytes are spread evenly over the time that its phase takes. Of phases that follow each other in a transfer each takes, after
// its latency, its share of what is left, in proportion to the time that its busiest link takes. Where transfers that share a link would
// have it carry more than it can in some part of the iteration, the rest is counted in the parts next to it.
// Returns: the types that carry something, that with the busiest link first; without their LinkUse::bytes, which are count_bytes'.
// Cost: O(links of all flows + tasks that are transfers x phases).
[[nodiscard]] std::vector<LinkUse> link_use(const Accounts& a, const Account& whole, const Playback& playback);

// Model states, and what context and libraries reserve, from the start; what a block of the graph saves from the end of its forward to the
// end of its backward pass, where its temporaries are on top. The largest sample is the peak of peak_memory, unless the optimizer's update
// sets that. `devices`: as device_memory gives them with Blocks::counted. Returns: samples by device class, then by time.
// Cost: O(device classes x tasks).
[[nodiscard]] std::vector<MemorySample> memory_samples(const Accounts& a, std::span<const DeviceMemory> devices);

// Returns: one span for each kernel group of an operator, each transfer (on each device class that takes part) and each launch, of the
// simulated devices; by device, stream, start. Kernels that are slowed share the time of their run in proportion to what they take alone.
// Cost: O(spans log spans).
struct TracedSpans {
  std::vector<Span> spans;
  std::vector<TimedKernels> kernels;  // SpanWork::kernels
};
[[nodiscard]] TracedSpans spans_of(const Accounts& a);

// Returns, per simulated device, all devices that do the same, itself first, ascending.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> classes_of(const Folded& folded);

}  // namespace sim
