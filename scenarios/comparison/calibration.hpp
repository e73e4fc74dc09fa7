#pragma once
// Profiles that say what a trace says: the device's kernels, and the host's time to launch one.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/comparison/comparison.hpp"
#include "scenarios/question/variant.hpp"

namespace comparison {

// A kernel of the plan, and how many times as long as its forecast it takes in the trace.
struct CalibratedKernel {
  std::string_view kind;
  std::array<std::int64_t, 4> sizes{};  // batch, m, n, k of a product; zeros for others
  base::Bytes bytes;
  double ratio = 1;
  bool by_kind = false;  // the trace has another number of kernels of the kind: the ratio is that of all of them together
};

struct Calibration {
  std::string device, framework;            // the profiles' files
  std::string device_name, framework_name;  // what they are profiles of
  std::vector<CalibratedKernel> kernels;
  std::optional<base::Seconds> forward_launch, backward_launch;  // of one kernel by the host, where the trace has launches
};

// Returns how far forecasts, and forecasts that are `times` as long, are from what was held out; nullopt: nothing was. Errors of the latter
// are taken to be normal about 0, so that one more lies within t x their root mean square nine times in ten; t: of Student's distribution
// with a degree of freedom for each iteration, or GPU, that was held out.
[[nodiscard]] std::optional<Misses> misses_of(const Comparison& c, double times);
// Returns the text of a framework's profile with the spread of what was held out in it.
[[nodiscard]] std::string with_spread(const std::string& framework, const Misses& held_out, const std::string& made_by);

// Returns the profiles that `variant` has for the compared devices with measured kernels in the device's table, and with shares of
// attention and launch times in the framework's. Kernels that are not aligned, and GPUs that are held out, change nothing. Of products the
// mean time of one without what it adds to a buffer counts, and fused ones do not. A launch takes the median time between two of one pass,
// of twenty or more. `made_by`: the command, for the files. Requires: `c` is the comparison of `run`. Throws: base::InputError where the
// devices are of several types.
[[nodiscard]] Calibration calibrate(const Comparison& c, const scenarios::Run& run, const scenarios::Variant& variant,
                                    const std::string& made_by);

}  // namespace comparison
