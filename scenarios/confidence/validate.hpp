#pragma once
// Holds forecasts against tables of measurements, ready to be assessed.
// Start here: validate() gives Items, assess() (assessment.hpp) their statistics by group. forecasts.hpp forecasts iterations in worker
// processes, steps.hpp kernels of steps; fit/ makes interval models and framework profiles of residuals.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profiles/measured/measurements.hpp"
#include "profiles/measured/points.hpp"
#include "profiles/measured/steps.hpp"
#include "scenarios/confidence/assessment.hpp"

namespace confidence {

using Table = std::variant<std::vector<measured::Point>, measured::Measurements, measured::StepTable>;
// Returns points, steps or measurements, whichever the header names. Throws: base::InputError as their readers do.
[[nodiscard]] Table read_table(std::string text, const std::string& file);

struct ValidationOptions {
  int jobs = 1;                                    // worker processes
  std::function<void(std::string_view)> progress;  // may be empty
  std::vector<measured::Point> points_of_steps;    // which steps may name besides the points of the tables
};

struct Validation {
  std::vector<Item> items;                      // iterations, then steps, kernels and collectives; each in order of the tables
  std::vector<confidence::Residual> residuals;  // of iterations that have a forecast
  std::vector<std::string> notes;               // what the readers left out
};

// Returns every measurement with its forecast. Throws: base::InputError where a step names no known point. Cost: a simulation per point and
// step, a formula per kernel and collective.
[[nodiscard]] Validation validate(const std::vector<Table>& tables, const ValidationOptions& options);

// Returns an item per measurement, forecast by profiles::kernel_time and sim::plan_collective. Kernels are grouped by device, precision and
// kind, collectives by cluster, nodes, GPUs and kind, messages of 1 MB and more apart from smaller ones.
[[nodiscard]] std::vector<Item> items_of(const measured::Measurements& measured);

}  // namespace confidence
