#pragma once
// The notes of a scenario's answer as lines for people.

#include <cstddef>
#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

enum class NotesShown { few, all };

// Returns "notes" and below it each note once, by kind, the most important first, with the plans that it is about unless it is about all;
// lines are at most `width` characters. Few: at most kFewLines lines in all; the last one counts what is left out.
// `most_lost`: of the candidates that lost a search, so many are named. Empty where there are no notes.
inline constexpr std::size_t kFewLines = 10;
[[nodiscard]] std::string notes_text(const scenarios::ScenarioResult& result, std::size_t most_lost, std::size_t width, NotesShown shown);

}  // namespace reports
