#pragma once
// How far a profile is from measured kernels.

#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "profiles/device_profile.hpp"
#include "profiles/measured/measurements.hpp"

namespace test {

struct KernelErrors {
  int rows = 0;
  double mean = 0;  // of |predicted / measured - 1|
};

// By kind and precision; whatever device the rows are of.
inline std::map<std::pair<pcg::KernelKind, pcg::Precision>, KernelErrors> kernel_errors(const profiles::DeviceProfile& d,
                                                                                        std::span<const measured::KernelMeasurement> rows) {
  std::map<std::pair<pcg::KernelKind, pcg::Precision>, KernelErrors> all;
  for (const measured::KernelMeasurement& m : rows) {
    KernelErrors& e = all[{m.kernel.kind, m.precision}];
    const double error = std::abs(profiles::kernel_time(d, m.kernel, m.precision).time / m.time - 1);
    e.mean += (error - e.mean) / ++e.rows;
  }
  return all;
}

}  // namespace test
