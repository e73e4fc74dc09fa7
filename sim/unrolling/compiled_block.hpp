#pragma once
// A block of a program for classes of devices instead of devices: runs of kernels fused where nothing comes between them, transfers, and
// the host's work to launch both. Copied once per micro-batch by unroll().
//
// Where a device may wait for its host, each run has the launch that it waits for. Where the host, starting a block together with the
// device, would hold it up by less than kLaunchTolerance of the block's kernels in all, two launches represent the block: the
// first kernels', which they wait for, and the rest. A block that is merged with another one has all its launches: the host
// alternates between both.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/program/program.hpp"
#include "sim/unrolling/class_times.hpp"

namespace sim {

// An event as one device class waits for it, or signals it.
struct Crossing {
  EventId event;
  std::uint32_t device_class = 0;
  auto operator<=>(const Crossing&) const = default;
};

// Kernels of a device class that run without a gap.
struct KernelRun {
  std::uint32_t device_class = 0;
  std::vector<Part> parts;
  base::Seconds seconds;
  profiles::ByBasis<base::Seconds> by_basis;  // the same by their basis
};

// A launch of kernels or of a transfer by the host of a device class.
struct HostLaunch {
  std::uint32_t device_class = 0;
  base::Seconds seconds;
};

// All transfers of a class.
struct TransferRun {
  std::uint32_t transfer = 0;  // index into Folded::transfers
  StreamKind stream = StreamKind::communication;
  std::uint32_t node = 0;  // whose tensor moves
  std::string_view what;   // Move::what
};

// A copy between the devices of a class and their hosts, or what these do with what they hold.
struct CopyRun {
  std::uint32_t device_class = 0;
  base::Seconds seconds;
  StreamKind stream = StreamKind::to_host;
  std::uint32_t node = 0;  // the first of whose tensors
  std::string_view what;   // Copy::what
};

struct Entry {
  std::variant<KernelRun, HostLaunch, TransferRun, CopyRun> work;
  std::vector<StreamId> streams;     // those that it occupies while it runs
  std::vector<std::uint32_t> after;  // entries of this block; sorted, unique
  std::vector<Crossing> waits_on;    // sorted
};

// 1 % of a block's kernels: small beside what iteration times are off by (docs/accuracy.md).
inline constexpr double kLaunchTolerance = 0.01;

struct CompiledBlock {
  std::vector<Entry> entries;
  std::vector<std::pair<Crossing, std::uint32_t>> signals;  // sorted: the entries to wait for
};

// Cost: O(items x classes they concern x classes of the items they wait for).
[[nodiscard]] CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times, bool merged);

// The work of the hosts of one block: whether they keep ahead of their devices, so that two launches can represent all.

// The host of a device class works without a pause from the moment when its device starts the block.
struct HostWork {
  double launches_s = 0;          // all of the block's
  double reached_s = 0;           // when it has launched what was added, counting its waits for the device (Compute::host_drains)
  double kernels_s = 0;           // of the device
  std::optional<double> first_s;  // up to the launch of the first kernels; nullopt: the class runs no kernels here
  double most_waited_s = 0;       // how long the device would wait for the launch of any later kernels at most
};

// One per device class. Cost: O(items x classes they concern), and of the device sets as SetClasses says.
[[nodiscard]] std::vector<HostWork> host_work(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times);

}  // namespace sim
