#pragma once
// Kernels of whole training steps, as a profiler lists them. A step table (docs/formats/measurements.md, "Steps") has the kernels of
// several steps; each step is one iteration of a point (points.hpp), which says what ran.

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/units.hpp"

namespace measured {

struct StepKernel {
  std::string name;    // as the profiler has it, perhaps cut
  double count = 0;    // launches in a step
  base::Seconds time;  // of all of them in a step
  base::Mark mark;     // of the row
};

struct Step {
  std::string point;  // Point::id
  std::vector<StepKernel> kernels;
  base::Mark mark;  // of its first row
};

struct StepTable {
  std::string file;
  std::vector<Step> steps;                // in order of first appearance
  std::vector<std::string> point_tables;  // files that have the points, as the lines "# points: FILE FILE" name them
};

// Returns whether a text is a step table's: its first line that is no comment.
[[nodiscard]] bool is_step_table(std::string_view text);
// Throws: base::InputError with every problem found: a column too many or too few; else a cell that is empty or no number above 0.
[[nodiscard]] StepTable read_steps(std::string text, const std::string& file);

}  // namespace measured
