#pragma once
// A lowered plan, before it is unrolled over micro-batches: for each virtual stage the items of one forward and one backward pass, and
// the update at the end. Items are listed in an order in which every device can run them. Nothing here knows of links or time.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "sim/dataflow/movement.hpp"

namespace sim {

using MovementId = base::Id<struct MovementTag>;
using DeviceSetId = base::Id<struct DeviceSetTag>;
using EventId = base::Id<struct EventTag>;

// Streams of a device. Sends between pipeline stages take none: they wait for nobody but their data.
// host: what the host does to launch the others (made by sim/unrolling, no item has it).
enum class StreamKind : std::uint8_t { compute, communication, gradients, pipeline, host };

// The share of one operator in a compute item, for traces and accounts.
struct Part {
  std::uint32_t node = 0;     // of the plan's PCG
  std::string_view what;      // "forward", "input gradient", "weight gradient", "recompute", "update"
  std::uint32_t seconds = 0;  // index into Program::seconds: one value per device type from here
};

struct Item {
  StreamKind stream = StreamKind::compute;
  DeviceSetId devices;               // compute: who
  std::vector<Part> parts;           // compute: what
  MovementId movement;               // else: what moves
  std::string_view what;             // "tensor", "gradient", "gather", "stage boundary", ...: for traces
  std::uint32_t node = 0;            // whose tensor moves
  std::vector<std::uint32_t> after;  // items of this block that must have ended on the devices concerned
  std::vector<EventId> waits_on;     // items of other blocks, of the same micro-batch
  std::vector<EventId> signals;      // this item's end is awaited by others under these names
  bool host_waits = false;           // compute: the host waits for the same before it launches
  bool host_drains = false;          // compute: the host waits until its device has done all that came before
  bool cut = false;                  // later items wait for just this much: do not fuse what follows into one run
};

struct Block {
  std::vector<Item> items;
};

enum class Pass : std::uint8_t { forward, backward, update };

// Backward passes differ by place: the first micro-batch's gradients are kept, later ones are added to them; the last one's are final.
enum class MicroBatchPosition : std::uint8_t { only, first, middle, last };
[[nodiscard]] inline MicroBatchPosition position_of(int micro_batch, int micro_batches) {
  if (micro_batches == 1) return MicroBatchPosition::only;
  return micro_batch == 0                   ? MicroBatchPosition::first
         : micro_batch == micro_batches - 1 ? MicroBatchPosition::last
                                            : MicroBatchPosition::middle;
}
[[nodiscard]] inline bool is_final(MicroBatchPosition t) { return t == MicroBatchPosition::only || t == MicroBatchPosition::last; }

struct Program {
  std::vector<Block> forward;  // one per virtual stage
  std::array<std::vector<Block>, 4>
      backward;  // by MicroBatchPosition, then one per virtual stage; empty blocks for positions that do not occur
  Block update;

  std::vector<std::vector<base::DeviceId>> device_sets;  // by DeviceSetId, ascending
  std::vector<Movement> movements;                       // by MovementId
  std::vector<std::string> device_types;                 // profiles in use
  std::vector<double> seconds;                           // see Part
  std::vector<double> host;                              // host seconds to launch the same; indexed as `seconds`
  std::vector<base::Seconds> collective_launch;          // host time to launch a collective or message, per device type
  bool overlap_stage_boundary = true;                    // profiles::FrameworkProfile
  base::Seconds launch_jitter;                           // profiles::HostCosts
  struct Home {
    Pass pass;
    int stage;
  };                         // the block whose item signals a event (update: stage 0)
  std::vector<Home> events;  // by EventId
  std::vector<std::string> notes;
  double seconds_by_basis[3] = {0, 0, 0};  // kernel seconds of one micro-batch on one device of each stage
  bool extrapolated = false;
};

}  // namespace sim
