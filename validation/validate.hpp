#pragma once
// From tables of measurements to forecasts held against them, ready to be assessed.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measurements/measurements.hpp"
#include "measurements/points.hpp"
#include "validation/assessment.hpp"

namespace validation {

using Table = std::variant<std::vector<measurements::Point>, measurements::Measurements>;
// Which of the two it is, is told by the header. Throws: base::InputError as their readers do.
[[nodiscard]] Table read_table(std::string text, const std::string& file);

struct ValidationOptions {
  int jobs = 1;                                    // worker processes
  std::function<void(std::string_view)> progress;  // may be empty
};

struct Validation {
  std::vector<Item> items;                       // in order of the tables
  std::vector<calibration::Residual> residuals;  // of iterations that have a forecast
  std::vector<std::string> notes;                // what the readers left out
};

// Cost: a simulation per point, a formula per kernel and collective.
[[nodiscard]] Validation validate(const std::vector<Table>& tables, const ValidationOptions& options);

// Kernels by device, precision and kind; collectives by cluster, GPUs and kind, messages of 1 MB and more apart from smaller ones. Forecast
// by profiles::kernel_time and sim::plan_collective.
[[nodiscard]] std::vector<Item> items_of(const measurements::Measurements& measured);

}  // namespace validation
