#pragma once
// Scatter plots of an assessment as SVG: predicted over measured times, both axes logarithmic. Private to this folder.

#include <cstddef>
#include <string>

#include "validation/assessment.hpp"

namespace reports {

// The quantity on the vertical axis, over measured times.
enum class Shown { time, ratio };

// Returns an <svg> element with one mark per forecast of the subject.
[[nodiscard]] std::string plot_svg(const validation::Assessment& a, validation::Subject subject, Shown shown);
// Returns the mark of a subject's group number `group` as a small <svg> element, for the key beside the plots.
[[nodiscard]] std::string key_svg(std::size_t group);

}  // namespace reports
