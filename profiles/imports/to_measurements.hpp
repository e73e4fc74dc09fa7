#pragma once
// An imported trace as measurements that calibration and validation can use.

#include <string>

#include "profiles/imports/traces/trace.hpp"
#include "profiles/measured/measurements.hpp"

namespace imports {

struct MeasurementNames {
  std::string device;   // a device profile's name; empty: the one that the trace's devices have
  std::string cluster;  // a preset's name, which no trace knows; empty: collectives are given without one
};

// Returns, of kernels, one row per distinct operation whose work is known (see ImportedOperation): the median over its occurrences of the
// summed times of its kernels; of collectives, one row per kind, nodes, group and size: the median. Times of traced collectives include
// waiting; nccl-tests' do not. The notes count what cannot be used. Cost: O(n log n).
[[nodiscard]] measured::Measurements to_measurements(const ImportedTrace& trace, const MeasurementNames& names);

}  // namespace imports
