#include "reports/answer.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ranges>
#include <utility>
#include <vector>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

constexpr std::array<std::string_view, 5> kKindWords = {"problem", "caution", "assumed", "search", "detail"};
constexpr std::size_t kKindWidth = 9;  // the longest word and two blanks
constexpr std::size_t kIndent = 2;

struct NoteOfRuns {
  base::Note note;
  std::vector<const scenarios::Run*> runs;
  bool others_alike = false;  // it represents notes that differ from it in their figures alone
};

void add_run(NoteOfRuns& n, const scenarios::Run* run) {
  if (std::ranges::find(n.runs, run) == n.runs.end()) n.runs.push_back(run);
}

// Each note once, the kinds in order, within a kind those of the best plan first, then in the order in which it first comes.
std::vector<NoteOfRuns> distinct_notes(const scenarios::ScenarioResult& result, std::size_t most_lost) {
  std::vector<NoteOfRuns> all;
  for (const scenarios::Run& run : result.runs)
    for (base::Note& note : scenarios::run_notes(run, most_lost)) {
      auto at = std::ranges::find(all, note, &NoteOfRuns::note);
      if (at == all.end()) at = all.insert(at, {std::move(note), {}});
      add_run(*at, &run);
    }
  const scenarios::Run* best = result.best_of_base();
  std::ranges::stable_sort(all, {},
                           [&](const NoteOfRuns& n) { return std::pair(n.note.kind, std::ranges::find(n.runs, best) == n.runs.end()); });
  return all;
}

std::string without_figures(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
  return text;
}

// The first of those that differ in their figures alone, for the runs of all of them.
std::vector<NoteOfRuns> like_ones_merged(std::vector<NoteOfRuns> notes) {
  std::vector<NoteOfRuns> merged;
  std::vector<std::string> words;
  for (NoteOfRuns& n : notes) {
    std::string of_note = without_figures(n.note.text);
    const auto at = std::ranges::find(words, of_note);
    if (at == words.end()) {
      words.push_back(std::move(of_note));
      merged.push_back(std::move(n));
      continue;
    }
    NoteOfRuns& first = merged[static_cast<std::size_t>(at - words.begin())];
    first.others_alike = true;
    for (const scenarios::Run* r : n.runs) add_run(first, r);
  }
  return merged;
}

// Notes that the same plan and the re-planned one share appear once.
std::string name_of(const scenarios::Run& r) { return r.is_of_base() ? r.plan : fmt::format("{} ({})", r.plan, r.variant); }

// The runs that a note is about. kNamed names leave room for the note; the JSON result names every run.
std::string about(const NoteOfRuns& n, std::size_t runs) {
  constexpr std::size_t kNamed = 3;
  if (n.runs.size() == runs) return "";
  std::vector<std::string> names;
  for (const scenarios::Run* r : n.runs)
    if (const std::string name = name_of(*r); std::ranges::find(names, name) == names.end()) names.push_back(name);
  std::string text = fmt::format("{}", fmt::join(names | std::views::take(kNamed), ", "));
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text + ": ";
}

}  // namespace

std::string notes_text(const scenarios::ScenarioResult& result, std::size_t most_lost, std::size_t width, NotesShown shown) {
  std::vector<NoteOfRuns> notes = distinct_notes(result, most_lost);
  if (shown == NotesShown::few) {
    // Two hold for most questions: the table marks intervals that they are about (text_table.cpp), so that few notes do without them.
    std::erase_if(notes,
                  [](const NoteOfRuns& n) { return n.note.code == "interval-other-kinds" || n.note.code == "extrapolated-kernels"; });
    notes = like_ones_merged(std::move(notes));
  }
  if (notes.empty()) return "";
  std::vector<std::string> lines;
  std::size_t written = 0;
  for (; written < notes.size(); ++written) {
    const NoteOfRuns& n = notes[written];
    const std::size_t room = std::max<std::size_t>(width, kIndent + kKindWidth + 20) - kIndent - kKindWidth;
    std::vector<std::string> of_note =
        wrapped(about(n, result.runs.size()) + n.note.text + (n.others_alike ? " (figures of the first)" : ""), room);
    const bool is_last = written + 1 == notes.size();  // after others, a line says how many are left out
    if (shown == NotesShown::few && lines.size() + of_note.size() + (is_last ? 0 : 1) > kFewLines) break;
    for (std::size_t i = 0; i < of_note.size(); ++i)
      lines.push_back(fmt::format("{:{}}{:{}}{}", "", kIndent, i == 0 ? kKindWords[static_cast<std::size_t>(n.note.kind)] : "", kKindWidth,
                                  of_note[i]));
  }
  if (written < notes.size())
    lines.push_back(fmt::format("{:{}}{}{} more: --notes all", "", kIndent, written == 0 ? "" : "and ", notes.size() - written));
  return fmt::format("\nnotes\n{}\n", fmt::join(lines, "\n"));
}

}  // namespace reports
