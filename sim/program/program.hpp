#pragma once
// A lowered plan, before it is unrolled over micro-batches: for each virtual stage the items of one forward and one backward pass, and
// the update at the end. Items are listed in an order in which every device can run them. Nothing here knows of links, or of when
// anything runs.
// Variants of one plan share the numbers: a block, movement, set of devices or event has the same number in all of their programs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fact.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/kinds.hpp"
#include "sim/dataflow/movement.hpp"
#include "sim/results/timed_kernel.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {

// Streams of a device: what is on one stream runs one after another, in the order in which it is listed.
// compute: kernels. communication: collectives that kernels wait for. gradients: synchronisation of gradients and weights, which may
// overlap with the others. replicas: shards of gradients on their way between groups that share out copies of their own. experts: tokens on
// their way to experts and back, where passes are merged. pipeline: messages between pipeline stages; these wait for nothing but their
// data, so nothing is queued on this stream. host: the host's work to launch what runs on the device. to_host, from_host: copies to the
// host's memory and back. host_update: what the host does with optimizer states.
enum class StreamKind : std::uint8_t {
  compute,
  communication,
  gradients,
  replicas,
  experts,
  pipeline,
  host,
  to_host,
  from_host,
  host_update
};
inline constexpr auto kStreamKinds = static_cast<std::uint32_t>(StreamKind::host_update) + 1;  // how many

// One stream of every device of a class (sim/folding/folding.hpp).
struct StreamId {
  std::uint32_t device_class = 0;
  StreamKind kind = StreamKind::compute;
  auto operator<=>(const StreamId&) const = default;
};

// The number of a stream in a task graph: class by class, in the order of StreamKind.
[[nodiscard]] constexpr std::uint32_t number_of(StreamId id) {
  return id.device_class * kStreamKinds + static_cast<std::uint32_t>(id.kind);
}

using MovementId = base::Id<struct MovementTag>;
using DeviceSetId = base::Id<struct DeviceSetTag>;
using EventId = base::Id<struct EventTag>;
using BlockId = base::Id<struct BlockTag>;

// The share of one operator in an item that computes, for traces and accounts.
struct Part {
  std::uint32_t node = 0;     // of the plan's PCG
  std::string_view what;      // "forward", "input gradient", "weight gradient", "recompute", "update"
  std::uint32_t seconds = 0;  // index into Program::seconds: one value per device type from here
};

// Kernels that every device of a set runs.
struct Compute {
  DeviceSetId devices;
  std::vector<Part> parts;
  bool host_waits = false;   // the host waits for what the kernels wait for before it launches them
  bool host_drains = false;  // the host waits until its device has done all that came before
  bool ends_run = false;     // other items wait for these kernels alone, so later kernels are not fused with them
};

// A tensor or a part of one that moves.
struct Move {
  MovementId movement;
  StreamKind stream = StreamKind::communication;
  std::string_view what;  // "tensor", "gradient", "gather", "stage boundary", ...: for traces
};

// Devices copy to the memory of their hosts or back, or hosts work on what lies there, on the stream of that kind: times of its own, which
// nothing else changes.
struct Copy {
  DeviceSetId devices;
  StreamKind stream = StreamKind::to_host;
  std::uint32_t seconds = 0;  // index into Program::seconds: one value per device type from here
  std::string_view what;
};

// A place in the compute streams of a set of devices, reached when all kernels before it have ended.
struct Mark {
  DeviceSetId devices;
};

struct Item {
  std::variant<Compute, Move, Mark, Copy> work;
  std::uint32_t node = 0;            // whose kernels, or whose tensor
  std::vector<std::uint32_t> after;  // items of this block that must have ended on the devices concerned
  std::vector<EventId> waits_on;     // items of other blocks, of the same micro-batch
  std::vector<EventId> signals;      // items of other blocks wait for this item's end by these events
};

struct Block {
  std::vector<Item> items;
};

// The blocks of each pass.
struct PassBlocks {
  std::vector<BlockId> forward;        // one per virtual stage
  std::vector<BlockId> first_forward;  // the first micro-batch's instead, where it has its own; else empty
  // One per virtual stage; none for positions that do not occur, and for passes that the schedule does not have.
  ByPosition<std::vector<BlockId>> backward, inputs, weights;
  BlockId update;
  // The blocks of a pass, which is not the update.
  [[nodiscard]] const std::vector<BlockId>& blocks_of(Pass pass, MicroBatchPosition position) const {
    const bool first = position == MicroBatchPosition::first || position == MicroBatchPosition::only;
    switch (pass) {
      case Pass::forward: return first && !first_forward.empty() ? first_forward : forward;
      case Pass::inputs: return inputs[position];
      case Pass::weights: return weights[position];
      case Pass::backward:
      case Pass::update: break;
    }
    return backward[position];
  }
};

struct Program : PassBlocks {
  [[nodiscard]] const Block& block(BlockId id) const { return blocks[id.value]; }
  // Returns: host seconds to launch a collective or a message on a device of a type.
  // Cost: O(n) of a collective of n devices.
  [[nodiscard]] double launch_s(const Transfer& transfer, std::uint32_t device_type) const {
    double s = collective_launch[device_type].value();
    if (transfer.kind == CollectiveKind::send) return s;  // its receiver does not launch it together with its sender
    // A collective waits for the slowest of its n hosts. The largest of n exponential times of mean m is m (1 + 1/2 + ... + 1/n) on
    // average; the first summand is what each host has alone.
    for (std::size_t n = 2; n <= transfer.group.size(); ++n) s += launch_jitter.value() / static_cast<double>(n);
    return s;
  }

  std::vector<Block> blocks;                                 // by BlockId; those of other variants too
  std::vector<std::vector<base::DeviceId>> device_sets;      // by DeviceSetId, ascending
  std::vector<Movement> movements;                           // by MovementId
  std::vector<topology::DeviceKind> device_types;            // in use
  std::vector<double> seconds;                               // see Part
  std::vector<double> host;                                  // host seconds to launch the same; indexed as `seconds`
  std::vector<profiles::ByBasis<double>> by_basis;           // the same kernel seconds by their basis; indexed as `seconds`
  std::vector<std::shared_ptr<const TimedKernels>> kernels;  // whose seconds they are; null: of no kernel. Indexed as `seconds`
  std::vector<base::Seconds> collective_launch;              // host time to launch a collective or message, per device type
  bool overlap_stage_boundary = true;                        // profiles::FrameworkProfile, for the schedule of the plan
  base::Seconds launch_jitter;                               // profiles::HostCosts
  bool blocking_launches = false;                            // profiles::FrameworkProfile; never with CUDA graphs

  struct Home {  // the passes whose items signal an event: forward, or backward, be it in one or in two
    Pass pass;
    int stage;
  };
  std::vector<Home> events;  // by EventId
  std::vector<base::Fact> notes;
  profiles::ByBasis<std::set<pcg::KernelKind>> kinds;  // of kernels, by the basis of their times
};

// How a plan saves memory. Plans that differ in nothing else share their graph, their layouts, their costs and most of their program.
struct Variant {
  pcg::Recompute recompute = pcg::Recompute::none;
  int zero = 0;  // pcg::Plan::zero
  bool operator==(const Variant&) const = default;
};

// Whether weights are updated in shards that have to be gathered before the next forward pass. ZeRO-3 gathers them anyway.
[[nodiscard]] inline bool gathers_updated_weights(const Variant& v) { return v.zero == 1 || v.zero == 2; }

[[nodiscard]] inline Variant variant_of(const pcg::Plan& plan) { return {plan.recompute, plan.zero}; }

// A forward pass of one micro-batch and a backward pass of another that a rank runs at once: their parts alternate, so that the tokens of
// the one travel during the kernels of the other (Megatron-Core's --overlap-moe-expert-parallel-comm; DualPipe, arXiv 2412.19437, section
// 3.2.1). A part ends where the pass sends tokens on their way.
// Returns the order of the parts: the pass that has run less of its parts goes on, the backward pass first.
[[nodiscard]] std::vector<Pass> alternation(std::size_t forward_parts, std::size_t backward_parts);

// Returns: one block with the items of both in that order. Their events differ by the passes that signal them.
// Cost: O(items and what they wait for).
[[nodiscard]] Block merged(const Block& forward, const Block& backward);

}  // namespace sim
