#pragma once
// The text form of interval models, and the one that ships.

#include <string>

#include "base/yaml/tree.hpp"
#include "scenarios/intervals/interval.hpp"

namespace scenarios {

// Returns the model that ships: scenarios/intervals/iterations.yaml as it was when the program was built.
[[nodiscard]] const IntervalModel& shipped_intervals();
// Returns the model of a text form (docs/formats.md, "Accuracy file"). Throws: base::InputError with every problem found.
[[nodiscard]] IntervalModel read_intervals(const base::Yaml& document);
// Returns the text form. `made_by`: the command, for the first line. read_intervals(parse(write_intervals(m))) is m to the digits written.
[[nodiscard]] std::string write_intervals(const IntervalModel& model, const std::string& made_by);

}  // namespace scenarios
