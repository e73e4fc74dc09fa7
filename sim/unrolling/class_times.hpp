#pragma once
// Seconds that the parts of a program take on each class of devices, and that its hosts take to launch them.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/program/program.hpp"

namespace sim {

class ClassTimes {
 public:
  // All arguments must outlive it. Cost: O(device classes x device types).
  ClassTimes(const Program& program, const Folded& folded, const topology::Cluster& cluster);

  [[nodiscard]] double kernels_s(std::span<const Part> parts, std::uint32_t device_class) const;
  // The same seconds by their basis.
  [[nodiscard]] profiles::ByBasis<double> kernels_by_basis(std::span<const Part> parts, std::uint32_t device_class) const;
  // An entry of Program::seconds.
  [[nodiscard]] double seconds(std::uint32_t at, std::uint32_t device_class) const {
    return program_.seconds[at + device_type_[device_class]];
  }
  // Host time to launch the kernels.
  [[nodiscard]] double launch_s(std::span<const Part> parts, std::uint32_t device_class) const;
  // Host time to launch a collective or message. Cost: O(n).
  [[nodiscard]] double launch_s(const Transfer& transfer, std::uint32_t device_class) const;

 private:
  const Program& program_;
  std::vector<std::uint32_t> device_type_;  // per class: index into Program::device_types
};

// Which classes of devices the device sets of a program have: asked for item by item, found once per set.

class SetClasses {
 public:
  // Both outlive the object.
  SetClasses(const Program& program, const Folded& folded) : program_(program), folded_(folded), known_(program.device_sets.size()) {}

  // Returns the classes, ascending, each once; valid as long as the object. Cost: O(devices of the set x log) the first time.
  [[nodiscard]] const std::vector<std::uint32_t>& of(DeviceSetId id);

 private:
  const Program& program_;
  const Folded& folded_;
  std::vector<std::vector<std::uint32_t>> known_;  // per set; empty: not asked for yet
};

}  // namespace sim
