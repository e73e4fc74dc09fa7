#pragma once
// A block of a program for classes of devices instead of devices: runs of kernels fused where nothing comes between them, transfers, and
// the host's work to launch both. Copied once per micro-batch by unroll().
//
// Where a device may wait for its host, each run has the launch that it waits for. Where the host, starting a block together with the
// device, would hold it up by less than kLaunchTolerance of the block's kernels in all, two launches stand for the block: the
// first kernels', which they wait for, and the rest.

#include <cstdint>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/program/program.hpp"

namespace sim {

// A event as one device class waits for it, or signals it.
struct Crossing {
  EventId event;
  std::uint32_t device_class = 0;
  auto operator<=>(const Crossing&) const = default;
};

struct Entry {
  static constexpr std::uint32_t kTransfer = 0xffffffff;
  std::uint32_t device_class = 0;           // of a run or launch; kTransfer: a transfer
  std::uint32_t transfer = 0;               // index into Folded::transfers
  std::vector<Part> parts;                  // of a run
  base::Seconds seconds;                    // of a run or launch
  StreamKind stream = StreamKind::compute;  // host: a launch
  std::uint32_t node = 0;                   // whose tensor moves
  std::string_view what;
  std::vector<std::uint32_t> streams;  // class * kStreams + stream
  std::vector<std::uint32_t> after;    // entries of this block
  std::vector<Crossing> waits_on;      // sorted, unique
  [[nodiscard]] bool is_transfer() const { return device_class == kTransfer; }
  [[nodiscard]] bool is_launch() const { return stream == StreamKind::host; }
  [[nodiscard]] bool is_run() const { return !is_transfer() && !is_launch(); }
};
inline constexpr std::uint32_t kStreams = 4;  // compute, communication, gradients, host: streams of a device
inline constexpr double kLaunchTolerance = 0.01;

struct CompiledBlock {
  std::vector<Entry> entries;
  std::vector<std::pair<Crossing, std::uint32_t>> signals;  // sorted: the entries to wait for
};

// Cost: O(items x classes they concern).
[[nodiscard]] CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const topology::Cluster& cluster);

}  // namespace sim
