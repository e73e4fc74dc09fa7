#pragma once
// A scenario's answer as text for people.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "reports/explanation.hpp"
#include "reports/notes_text.hpp"
#include "scenarios/answer/result.hpp"

namespace reports {

enum class Colour { none, terminal };

// Escape sequences of ECMA-48 (select graphic rendition), which every terminal understands: all that reports use.
inline constexpr std::array<std::string_view, 4> kEscapes = {"\033[31m", "\033[32m", "\033[1m", "\033[0m"};

inline constexpr std::size_t kNarrowest = 80;  // columns of a screen: a narrower one has lines that are too long

struct TextStyle {
  Colour colour = Colour::none;
  std::size_t width = 120;  // columns of the screen
  NotesShown notes = NotesShown::few;
};

// Returns one row per run, what-ifs below the base (a plan that was made anew and is the base's has one row with it): GPUs, time in one
// unit for all rows, its 90 % interval, tokens/s (samples/s where a model has no tokens), MFU, shares of exposed communication and bubble,
// peak memory of capacity, status, and what the plan is, or why there is none; a mark where a time rests on assumptions. Then where the
// best plan's time goes, its memory, and the notes (reports/notes_text.hpp). No line is longer than the style's width, but for a name that
// is. `explained`: the plans are compared behind the best (reports/comparison.hpp) and explained at the end (reports/explanation.hpp), with
// all lost candidates there.
[[nodiscard]] std::string text_table(const scenarios::ScenarioResult& r, const TextStyle& style, Explained explained = Explained::no);

}  // namespace reports
