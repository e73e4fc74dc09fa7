#pragma once
// A forecast beside measured traces: as text, JSON, a page and a trace with both.

#include <cstddef>
#include <string>

#include "scenarios/comparison/calibration.hpp"
#include "scenarios/comparison/comparison.hpp"

namespace reports {

// Returns both times, the three parts that differ most, a table of all parts, what could not be aligned, and notes. `width`: of the screen.
[[nodiscard]] std::string compare_text(const comparison::Comparison& c, std::size_t width);

// Returns what a calibration found, and how much nearer it brings the forecast to iterations that it did not see. Requires: c.calibrated.
[[nodiscard]] std::string calibration_text(const comparison::Comparison& c, const comparison::Calibration& found, std::size_t width);

// Returns docs/formats/results.md, "Comparison".
[[nodiscard]] std::string compare_json(const comparison::Comparison& c);

// Returns a page that needs no network: parts, and both timelines of each device on one axis. Some 200 B for each kernel and transfer.
[[nodiscard]] std::string compare_page(const comparison::Comparison& c);

// Returns a Chrome trace with two processes for each device, measured and forecast, for Perfetto.
[[nodiscard]] std::string compare_trace(const comparison::Comparison& c);

}  // namespace reports
