#pragma once
// The timeline of one iteration of an imported trace: a Kineto trace, an Nsight Systems export.

#include <string>
#include <vector>

#include "scenarios/comparison/timeline.hpp"

namespace comparison {

struct Iteration {
  std::string name;
  double begin_s = 0, end_s = 0;  // on the device
};

// How iterations were found: marked by the profiler; by a kernel's name that comes once in each of them, with the same kernels between;
// or not, so that the trace is taken for one.
enum class FoundBy { marks, period, whole };

struct Iterations {
  FoundBy by = FoundBy::whole;
  std::vector<Iteration> all;                // in order; never empty
  std::size_t settled = 0;                   // the first that is not warming up
  [[nodiscard]] std::size_t steady() const;  // the one whose time is the median of every other settled one
};

// Returns the iterations of a device. Marked ones hold the kernels that were launched in them, from the first of these to the first of the
// next. The first of three or more is taken for warming up.
// Throws: base::InputError where the device has no kernels, or the file no starts.
[[nodiscard]] Iterations iterations_of(const imports::ImportedTrace& trace, int device);

// Returns what the device does in the iteration. Passes are those of the host operations around the launches, else of the names of kernels:
// forward up to the loss or the first kernel that is named as backward.
// Cost: O(kernels + collectives).
[[nodiscard]] DeviceTimeline measured_timeline(const imports::ImportedTrace& trace, int device, const Iteration& iteration);

}  // namespace comparison
