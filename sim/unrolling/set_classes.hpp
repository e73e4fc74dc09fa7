#pragma once
// Which classes of devices the device sets of a program have: asked for item by item, found once per set.

#include <cstdint>
#include <vector>

#include "sim/folding/folding.hpp"
#include "sim/program/program.hpp"

namespace sim {

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
