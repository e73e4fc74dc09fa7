#pragma once
// The result of simulating one training iteration.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fact.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/kinds.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "sim/results/timed_kernel.hpp"

namespace sim {

// Why an iteration takes as long as it does: what is on its critical path, and how its links are used.
// operation: kernels. collective: among more than two devices as a rule. transfer: a message, or a copy between a device and its host.
// host: what a host does. wait: nothing that was waited for ends when the wait does.
enum class PathKind : std::uint8_t { operation, collective, transfer, host, wait };

[[nodiscard]] const char* to_text(PathKind k);  // "operator", "collective", "transfer", "host", "wait"

struct OnPath {
  PathKind kind = PathKind::operation;
  std::string name;  // "linear forward", "all_reduce (gradients)"
  std::string link;  // of what moves: the type of the link that it keeps busy longest, "host" for copies; else empty
  auto operator<=>(const OnPath&) const = default;
};

// The name of what has no row of its own.
inline constexpr const char* kOtherParts = "other";

// All stretches of the critical path that are alike, whichever layer and micro-batch they are of.
struct PathPart {
  OnPath what;
  base::Seconds time;
};

// The links of one type over which something moves.
struct LinkUse {
  std::string type;         // "nvlink"
  std::string name;         // of the busiest; the first among equals
  std::uint32_t count = 0;  // one-way links; a wire has one each way
  base::Bytes bytes;        // of the flows that cross such a link, each flow once: as CommunicationBytes::by_link
  // The bytes that keep the links busy: every link that a flow crosses counts, and what a library leaves unused of it, too.
  base::Bytes carried;
  base::BytesPerSecond bandwidth;  // of all of them together
  double busy = 0;                 // carried / (bandwidth x iteration): the mean over the links
  double busiest = 0;              // the same of the busiest alone
  std::vector<double> over_time;   // `busy` of each of kUseIntervals equal parts of the iteration
};

inline constexpr int kUseIntervals = 100;

// Where a device's time goes; adds up to the iteration time. compute: kernels run; exposed_communication: its compute stream waits for a
// collective or transfer that this device takes part in and that is running; bubble and imbalance: it waits for what another pipeline stage
// does, itself or through its host; idle: the rest, above all waiting for the host to launch.
// bubble: of these waits as much as the schedule leaves empty where all stages take equally long (sim::empty_share), which more
// micro-batches or chunks fill; imbalance: the rest, which equal stages would not have.
struct Breakdown {
  base::Seconds compute, exposed_communication, bubble, imbalance, idle;
  // The parts of exposed_communication, each adding up to it: "all_reduce", or "host_copy"; and the type of the link that the transfer
  // keeps busy longest, "host" for a copy and "none" where nothing crosses a link. While several are under way, the first of them counts.
  std::map<std::string, base::Seconds> exposed_by_collective, exposed_by_link;

  [[nodiscard]] base::Seconds waits_for_stages() const { return bubble + imbalance; }
  [[nodiscard]] base::Seconds total() const { return compute + exposed_communication + waits_for_stages() + idle; }
};

struct CommunicationBytes {
  base::Bytes total;                                 // sent by all devices; each flow counts once, however many links it crosses
  std::map<std::string, base::Bytes> by_collective;  // "all_reduce": ...
  std::map<std::string, base::Bytes> by_link;        // link type: bytes of the flows that cross a link of the type, each flow once per type
};

// A share of the capacity: the mean error of most groups' forecasts of what is allocated; some are above it (docs/accuracy.md, column "peak
// memory"), rounded up. What allocators hold on top, they give back in part when memory is short (docs/accuracy.md, "Memory").
inline constexpr double kMemoryMargin = 0.03;

// The use of the device that has least room left at its peak, which is its capacity less its peak, so below 0 where it does not fit. Among
// equals the lowest number. All zero where a plan uses no memory.
struct MemoryUse {
  base::Bytes peak, capacity;
  base::Bytes weights, gradients, optimizer, activations, workspace;
  base::DeviceId device;
  base::Bytes held;        // by the framework's allocator beside the peak, in pools of other streams; whether a plan fits leaves it out
  bool in_update = false;  // the peak is while the optimizer updates weights, when activations are gone
  double margin = kMemoryMargin;  // a share of the capacity that is to stay free
  [[nodiscard]] bool fits() const { return peak <= capacity; }
  [[nodiscard]] bool is_tight() const { return fits() && peak > capacity * (1 - margin); }
};

// The link that works longest: bytes over bandwidth, as a share of the iteration.
struct BusiestLink {
  std::string type;  // "pcie"
  std::string name;  // "node0:cpu0->nic0"; of the links that are like it, the first
  double busy = 0;   // 0 .. 1
};

// The pass that work belongs to. update: of the optimizer, with the synchronisation that waits for the end.
enum class SpanPass : std::uint8_t { forward, recompute, backward, update };
inline constexpr std::array kSpanPasses = {SpanPass::forward, SpanPass::recompute, SpanPass::backward, SpanPass::update};
[[nodiscard]] std::string_view to_text(SpanPass p);  // "forward", "recompute", "backward", "update"

// Which work of the plan a span is: what a measured trace is aligned by.
struct SpanWork {
  SpanPass pass = SpanPass::forward;
  std::string operation;                         // the node whose kernels run, or whose tensor moves; empty: a launch
  int layer = -1, stage = -1, micro_batch = -1;  // layer: the PCG's block; -1: none
  std::string moves;                             // of a transfer "all_gather", of a copy to the host or back "host_copy"; else empty
  int group = 0;                                 // ranks that take part in a transfer
  base::Bytes buffer;                            // of a transfer: the full buffer, as sim::plan_collective counts it
  std::uint32_t kernels = UINT32_MAX;            // into SimulationResult::kernels; UINT32_MAX: none
  [[nodiscard]] bool computes() const { return kernels != UINT32_MAX; }
};

struct Span {
  std::uint32_t device = 0;
  std::string stream;  // "compute", "communication", "gradients", "replicas", "pipeline", "host"
  std::string name;    // "layer0.mlp.up forward, micro-batch 3"
  base::Seconds start, duration;
  base::Bytes bytes;  // of a transfer: all of its flows; else 0
  // A message from one device to others: its number, from 1, and which end this span is. 0: no message.
  std::uint32_t message = 0;
  bool receives = false;
  SpanWork work = {};
};

// Memory of a device over time: the value holds from `time` on.
struct MemorySample {
  std::uint32_t device = 0;
  base::Seconds time;
  base::Bytes used;
};

struct SimulationResult {
  base::Seconds iteration_time;
  // Of each rank of the pipeline its device that computes longest (lowest number among equals); without a pipeline the one device whose
  // last task ends last.
  std::vector<Breakdown> stages;
  Breakdown breakdown;  // the mean of the stages: one model on the same devices computes as long, however it is cut
  CommunicationBytes bytes;
  std::optional<BusiestLink> busiest_link;  // nullopt: nothing moves
  std::vector<PathPart> critical_path;      // the longest parts first; they add up to the iteration time
  std::vector<LinkUse> links;               // that with the busiest link first
  MemoryUse memory;
  int devices = 0;                             // of the plan
  int simulated_devices = 0;                   // fewer when folded
  std::optional<int> simulated_micro_batches;  // fewer than the plan has, where the others repeat them; nullopt: all
  std::uint64_t activities = 0;
  profiles::ByBasis<base::Seconds> compute_by_basis;   // kernel seconds, over all simulated devices
  std::vector<base::Fact> notes;                       // what was folded, extrapolated, assumed, rounded; what changes nothing
  std::vector<Span> spans;                             // if asked for, by device, stream, start
  std::vector<TimedKernels> kernels;                   // of the spans, each list once
  std::vector<std::vector<std::uint32_t>> stands_for;  // if asked for: per simulated device those that do the same, itself first, ascending
  std::vector<MemorySample> memory_over_time;          // if asked for
};

struct SimulationConfig {
  bool fold = true;         // simulate devices that do the same thing in the same place once (sim/folding/folding.hpp)
  bool extrapolate = true;  // simulate micro-batches that repeat others once (sim/accounting/steady_state.hpp); not with a trace
  bool trace = false;       // keep spans
  CollectiveConfig collectives;
  std::optional<profiles::FrameworkProfile> framework;  // nullopt: the one that ships for the plan's framework
};

// The framework profile that a plan of this training is simulated with.
[[nodiscard]] const profiles::FrameworkProfile& framework_of(const pcg::TrainingConfig& training, const SimulationConfig& config);

}  // namespace sim
