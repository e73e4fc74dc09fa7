#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/compare.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

std::string error_text(double predicted_s, double measured_s) { return percent(std::abs(predicted_s / measured_s - 1)); }

std::string launch_text(const comparison::Calibration& found) {
  if (!found.forward_launch && !found.backward_launch) return "the trace has no launches, so the host's times stay as they are\n";
  std::string text = "the host launches a kernel in";
  if (found.forward_launch) text += fmt::format(" {} forward", base::to_text(*found.forward_launch));
  if (found.backward_launch) text += fmt::format(" {} backward", base::to_text(*found.backward_launch));
  return text + "\n";
}

}  // namespace

std::string calibration_text(const comparison::Comparison& c, const comparison::Calibration& found, std::size_t width) {
  Table table({left("kernel"), right("batch x m x n x k, or bytes"), right("trace / forecast"), left("basis")});
  std::vector<comparison::CalibratedKernel> largest = found.kernels;
  std::ranges::stable_sort(largest, std::greater{}, [](const auto& k) { return std::abs(std::log(k.ratio)); });
  constexpr std::size_t kLargest = 12;
  if (largest.size() > kLargest) largest.resize(kLargest);
  for (const comparison::CalibratedKernel& k : largest)
    table.row({std::string(k.kind),
               k.sizes[1] > 0 ? fmt::format("{} x {} x {} x {}", k.sizes[0], k.sizes[1], k.sizes[2], k.sizes[3]) : base::to_text(k.bytes),
               fmt::format("{:.3f}", k.ratio), k.by_kind ? "all of the kind: counts differ" : "measured"});
  const comparison::Recalibrated& after = *c.calibrated;
  std::string text = fmt::format("\nCalibrated: {} kernels of {}; those that change most\n{}{}", found.kernels.size(), found.device_name,
                                 table.text(2, width), launch_text(found));
  text += fmt::format("forecast {} before, {} after; its interval was {} wide, and is {}\n", base::to_text(base::Seconds(c.predicted_s)),
                      base::to_text(base::Seconds(after.predicted_s)), base::to_text(base::Seconds(c.high_s - c.low_s)),
                      base::to_text(base::Seconds(after.high_s - after.low_s)));
  text += fmt::format("error on the iteration that it was fitted to: {} before, {} after\n", error_text(c.predicted_s, c.measured_s),
                      error_text(after.predicted_s, c.measured_s));
  if (!after.held_out) return text + "nothing was held out, which would narrow the interval: give a trace of two iterations or more\n";
  const comparison::Misses& h = *after.held_out;
  text += fmt::format("error on {} {} that it did not see ({} on average): {} before, {} after; nine in ten are within {}\n", h.count,
                      c.holds_out_devices ? "GPUs" : "iterations", base::to_text(base::Seconds(h.measured_s)), percent(h.before),
                      percent(h.after), percent(std::expm1(h.spread)));
  return text;
}

}  // namespace reports
