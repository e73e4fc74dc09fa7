#pragma once
// A block of a program for classes of devices instead of devices: runs of kernels fused where nothing comes between them, transfers, and
// the host's work to launch both. Copied once per micro-batch by unroll().
//
// Where a device may wait for its host, each run has the launch that it waits for. Where the host, starting a block together with the
// device, would hold it up by less than kLaunchTolerance of the block's kernels in all, two launches represent the block: the
// first kernels', which they wait for, and the rest. A block that is merged with another one has all its launches: the host
// alternates between both.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/program/program.hpp"

namespace sim {

// The classes of devices that the device sets of a program have; the seconds that its parts take on each, and that their hosts take to
// launch them.
class ClassTimes {
 public:
  // The program must outlive it.
  // Cost: O(device classes x device types), and O(devices x log) for each set.
  ClassTimes(const Program& program, const Folded& folded, const topology::Cluster& cluster);

  // Ascending, each once.
  [[nodiscard]] const std::vector<std::uint32_t>& classes_of(DeviceSetId set) const { return classes_[set.value]; }
  [[nodiscard]] double kernels_s(std::span<const Part> parts, std::uint32_t device_class) const;
  // The same seconds by their basis.
  [[nodiscard]] profiles::ByBasis<double> kernels_by_basis(std::span<const Part> parts, std::uint32_t device_class) const;
  // An entry of Program::seconds.
  [[nodiscard]] double seconds(std::uint32_t at, std::uint32_t device_class) const {
    return program_.seconds[at + device_type_[device_class]];
  }
  // Host time to launch the kernels.
  [[nodiscard]] double launch_s(std::span<const Part> parts, std::uint32_t device_class) const;
  // Host time to launch a collective or message.
  // Cost: O(n).
  [[nodiscard]] double launch_s(const Transfer& transfer, std::uint32_t device_class) const;

 private:
  const Program& program_;
  std::vector<std::uint32_t> device_type_;           // per class: index into Program::device_types
  std::vector<std::vector<std::uint32_t>> classes_;  // per set
};

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
  bool follows_passes = false;       // a message of samples: frameworks send it when the passes before are done
};

// 1 % of a block's kernels: small against the errors of iteration times (docs/accuracy.md).
inline constexpr double kLaunchTolerance = 0.01;

struct CompiledBlock {
  std::vector<Entry> entries;
  std::vector<std::pair<Crossing, std::uint32_t>> signals;  // sorted: the entries to wait for
};

// Cost: O(items x classes they concern x classes of the items they wait for).
[[nodiscard]] CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times, bool merged);

}  // namespace sim
