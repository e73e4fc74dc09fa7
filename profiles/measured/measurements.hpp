#pragma once
// Measured times of single kernels and of collectives, which calibration fits and validation compares with. They have one form, whatever
// file they came from: our own CSV (docs/formats/measurements.md), which tools/converters makes of public tables, or an imported trace.
// Start here: read_measurements(); the tables that it knows: tables.hpp; measured iterations: points.hpp.

#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/kinds.hpp"

namespace measured {

struct KernelMeasurement {
  std::string device;  // a device profile's name
  pcg::Precision precision = pcg::Precision::fp32;
  pcg::Kernel kernel;  // kind, FLOPs, bytes, matmul sizes: as pcg/work would give it
  base::Seconds time;
  std::string source;  // "FILE:LINE"
};

struct CollectiveMeasurement {
  std::string cluster;  // a preset's name
  int nodes = 1;
  int gpus = 2;  // in all
  profiles::CollectiveKind kind = profiles::CollectiveKind::all_reduce;
  base::Bytes bytes;  // the full buffer, as sim::plan_collective counts it
  base::Seconds time;
  std::string source;  // "FILE:LINE"
};

struct Measurements {
  std::vector<KernelMeasurement> kernels;
  std::vector<CollectiveMeasurement> collectives;
  std::vector<std::string> notes;  // rows left out, and why: "FILE: 12 rows left out: no device profile for MI210"
};

// Reads a CSV file's text; `file` names it in messages. Rows that cannot be used are left out with a note: those
// without a time, say. A table may name a device that has no profile yet, and have other columns besides.
// Throws: base::InputError when it has not all columns of either table, or a cell is not what its column holds.
[[nodiscard]] Measurements read_measurements(std::string_view text, const std::string& file);

}  // namespace measured
