#pragma once
// A scenario's answer in its written forms. Start here: text_table() for people, json() (format 2: docs/formats/results.md), csv(),
// chrome_trace(); the HTML report is html/page.hpp. Parts of the text: comparison.hpp, explanation.hpp, capacity, what_if. Other commands'
// answers: rules_report.hpp, show, imports, calibration, validation. layout/ has tables and units, json_numbers.hpp numbers.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "reports/explanation.hpp"
#include "scenarios/answer/result.hpp"

namespace reports {

enum class Colour { none, terminal };
enum class NotesShown { few, all };

// Escape sequences of ECMA-48 (select graphic rendition), which every terminal understands: all that reports use.
inline constexpr std::array<std::string_view, 4> kEscapes = {"\033[31m", "\033[32m", "\033[1m", "\033[0m"};

inline constexpr std::size_t kNarrowest = 80;  // columns of a screen: a narrower one has lines that are too long

struct TextStyle {
  Colour colour = Colour::none;
  std::size_t width = 120;  // columns of the screen
  NotesShown notes = NotesShown::few;
};

// Returns "notes" and below it each note once, by kind, the most important first, with the plans that it is about unless it is about all;
// lines are at most `width` characters. Few: at most kFewLines lines in all; the last one counts what is left out.
// `most_lost`: the number of candidates that lost a search to be named. Empty where there are no notes.
inline constexpr std::size_t kFewLines = 10;
[[nodiscard]] std::string notes_text(const scenarios::ScenarioResult& result, std::size_t most_lost, std::size_t width, NotesShown shown);

// Returns one row per run, what-ifs below the base (a plan that was made anew and is the base's has one row with it): GPUs, time in one
// unit for all rows, its 90 % interval, tokens/s (samples/s where a model has no tokens), MFU, shares of exposed communication and bubble,
// peak memory of capacity, status, and what the plan is, or why there is none; a mark where a time is based on assumptions. Then where the
// best plan's time goes, its memory, and the notes (notes_text). No line is longer than the style's width, but for a name that
// is. `explained`: the plans are compared after the best (reports/comparison.hpp) and explained at the end (reports/explanation.hpp), with
// all lost candidates there.
[[nodiscard]] std::string text_table(const scenarios::ScenarioResult& r, const TextStyle& style, Explained explained = Explained::no);

// Returns the question and the table of runs as Markdown, for a page or an issue.
[[nodiscard]] std::string markdown(const scenarios::ScenarioResult& r);

// Returns comma-separated text: a header, a row for each run, then for each machine of capacity and each sensitivity; `kind` tells them
// apart. Columns: the question's (subject_columns), a column `set.KEY` for each key that a what-if of any of the scenarios changes, those
// of figures.hpp, and those of capacity and sensitivities. A cell without a value is empty.
[[nodiscard]] std::string csv(std::span<const scenarios::ScenarioResult> results);

// Returns format 2. `explained`: with the differences of each plan from data parallelism.
[[nodiscard]] std::string json(const scenarios::ScenarioResult& r, Explained explained = Explained::no);

// Returns a Chrome trace, which opens in Perfetto: one process per device, one thread per stream and the memory as a counter, of the best
// plan of the base, or where nothing fits, of the first run that has spans.
[[nodiscard]] std::string chrome_trace(const scenarios::ScenarioResult& r);

}  // namespace reports
