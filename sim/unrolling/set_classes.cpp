#include "sim/unrolling/set_classes.hpp"

#include <algorithm>

namespace sim {

const std::vector<std::uint32_t>& SetClasses::of(DeviceSetId id) {
  std::vector<std::uint32_t>& classes = known_[id.value];
  if (!classes.empty()) return classes;
  for (const base::DeviceId d : program_.device_sets[id.value]) classes.push_back(folded_.class_of[d.value]);
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

}  // namespace sim
