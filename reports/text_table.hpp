#pragma once
// A scenario's answer as text for people.

#include <string>

#include "reports/explanation.hpp"
#include "scenarios/result.hpp"

namespace reports {

enum class Colour { none, terminal };

// Returns one line per run, aligned, what-ifs below the base (a plan that was made anew and is the base's has one line with it); then where
// the best plan's time goes, its memory, and the notes, each once, of at most three lost candidates. `explained`: the plans are compared
// behind the best (reports/comparison.hpp) and explained at the end (reports/explanation.hpp), with all lost candidates there.
[[nodiscard]] std::string text_table(const scenarios::ScenarioResult& r, Colour colour, Explained explained = Explained::no);

}  // namespace reports
