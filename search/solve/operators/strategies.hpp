#pragma once
// The ways in which one operator can run on a block of devices: how it is cut, and which device has which point. The space of FlexFlow
// (Jia et al., MLSys'19, section 4: samples, operators, attributes, parameters) with Unity's n-dimensional machine views (OSDI'22, Figure
// 7).

#include <span>
#include <vector>

#include "pcg/plan/mapping.hpp"
#include "pcg/sharding/sharding.hpp"

namespace search {

struct Strategy {
  pcg::Sharding sharding;
  pcg::MachineView view;
  bool operator==(const Strategy&) const = default;
};

// Devices with consecutive numbers.
struct DeviceBlock {
  int start = 0, size = 1;
  auto operator<=>(const DeviceBlock&) const = default;
};

// Returns: every lawful sharding that cuts at most `most_cut` loops and whose points, with copies for what its degrees leave, are
// the block; each with every order of its axes, the innermost one over neighbours. Partial sums do not pass. The one that copies all the
// work is always among them. `inputs` and `outputs` are whole shapes. Cost: O(strategies); for d devices there are as many shardings of two
// loops as ordered factorisations of d into three.
[[nodiscard]] std::vector<Strategy> strategies_of(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                                  std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut);
// The same of the first so many devices of the block, `at_most` and a divisor of its size, each with work of its own: the others idle, and
// have no copies of weights to keep up.
[[nodiscard]] std::vector<Strategy> strategies_of_few(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                                      std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut,
                                                      int at_most);

}  // namespace search
