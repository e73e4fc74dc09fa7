#pragma once
// A kernel with the time that it was given on one type of device, which a trace and a comparison with a measured one show.

#include <vector>

#include "base/units.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"

namespace sim {

struct TimedKernel {
  pcg::Kernel kernel;
  pcg::Precision precision = pcg::Precision::fp32;  // that it was costed in
  base::Seconds time;                               // alone
  bool operator==(const TimedKernel&) const = default;
};
using TimedKernels = std::vector<TimedKernel>;  // in the order in which they run

}  // namespace sim
