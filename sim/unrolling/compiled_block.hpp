#pragma once
// A block of a program for classes of devices instead of devices: runs of kernels fused where nothing comes between them, and transfers.
// Copied once per micro-batch by unroll().

#include <cstdint>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/lowering/program.hpp"

namespace sim {

// A boundary as one device class waits for it, or announces it.
struct Crossing {
  BoundaryId boundary;
  std::uint32_t device_class = 0;
  auto operator<=>(const Crossing&) const = default;
};

struct Entry {
  static constexpr std::uint32_t kTransfer = 0xffffffff;
  std::uint32_t device_class = 0;  // of a run; kTransfer: a transfer
  std::uint32_t transfer = 0;      // index into Folded::transfers
  std::vector<Part> parts;         // of a run
  base::Seconds seconds;           // of a run
  Lane lane = Lane::compute;
  std::uint32_t node = 0;  // whose tensor moves
  std::string_view what;
  std::vector<std::uint32_t> streams;  // class * kLanes + lane
  std::vector<std::uint32_t> after;    // entries of this block
  std::vector<Crossing> awaits;        // sorted, unique
  [[nodiscard]] bool is_run() const { return device_class != kTransfer; }
};
inline constexpr std::uint32_t kLanes = 3;  // compute, communication, gradients: streams of a device

struct CompiledBlock {
  std::vector<Entry> entries;
  std::vector<std::pair<Crossing, std::uint32_t>> announces;  // sorted: the entries to wait for
};

// Cost: O(items x classes they concern).
[[nodiscard]] CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const topology::Cluster& cluster);

}  // namespace sim
