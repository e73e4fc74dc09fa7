#pragma once
// A lowered plan, before it is unrolled over micro-batches: for each virtual stage the items of one forward and one backward pass, and
// the update at the end. Items are listed in an order in which every device can run them. Nothing here knows of links, or of when
// anything runs.
// Variants of one plan (sim/program/variant.hpp) share the numbers: a block, movement, set of devices or event has the same number in all
// of their programs.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/note.hpp"
#include "base/units.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/basis.hpp"
#include "sim/dataflow/movement.hpp"
#include "sim/program/stream.hpp"
#include "sim/schedules/pass.hpp"

namespace sim {

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

struct Program {
  std::vector<BlockId> forward;        // one per virtual stage
  std::vector<BlockId> first_forward;  // the first micro-batch's instead, where it has its own; else empty
  // One per virtual stage; none for positions that do not occur, and for passes that the schedule does not have.
  ByPosition<std::vector<BlockId>> backward, inputs, weights;
  BlockId update;
  // Those of a pass, which is not the update.
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
  [[nodiscard]] const Block& block(BlockId id) const { return blocks[id.value]; }
  // Returns: host seconds to launch a collective or a message on a device of a type. Cost: O(n) of a collective of n devices.
  [[nodiscard]] double launch_s(const Transfer& transfer, std::uint32_t device_type) const {
    double s = collective_launch[device_type].value();
    if (transfer.kind == CollectiveKind::send) return s;  // its receiver does not launch it together with its sender
    // A collective waits for the slowest of its n hosts. The largest of n exponential times of mean m is m (1 + 1/2 + ... + 1/n) on
    // average; the first summand is what each host has alone.
    for (std::size_t n = 2; n <= transfer.group.size(); ++n) s += launch_jitter.value() / static_cast<double>(n);
    return s;
  }

  std::vector<Block> blocks;                             // by BlockId; those of other variants too
  std::vector<std::vector<base::DeviceId>> device_sets;  // by DeviceSetId, ascending
  std::vector<Movement> movements;                       // by MovementId
  std::vector<topology::DeviceKind> device_types;        // in use
  std::vector<double> seconds;                           // see Part
  std::vector<double> host;                              // host seconds to launch the same; indexed as `seconds`
  std::vector<profiles::ByBasis<double>> by_basis;       // the same kernel seconds by what they rest on; indexed as `seconds`
  std::vector<base::Seconds> collective_launch;          // host time to launch a collective or message, per device type
  bool overlap_stage_boundary = true;                    // profiles::FrameworkProfile, for the schedule of the plan
  base::Seconds launch_jitter;                           // profiles::HostCosts
  bool blocking_launches = false;                        // profiles::FrameworkProfile; never with CUDA graphs

  struct Home {  // the passes whose items signal an event: forward, or backward, be it in one or in two
    Pass pass;
    int stage;
  };
  std::vector<Home> events;  // by EventId
  std::vector<base::Note> notes;
  profiles::ByBasis<std::set<pcg::KernelKind>> kinds;  // of kernels, by what their times rest on
};

}  // namespace sim
