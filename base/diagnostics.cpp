#include "base/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>

namespace base {
namespace {

constexpr std::size_t kQuotedWidth = 140;  // bytes of a source line that a message quotes at most

std::optional<std::string_view> line_of(const Mark& mark) {
  if (!mark.source || mark.line < 1) return std::nullopt;
  std::string_view rest = mark.source->text;
  for (int i = 1; i < mark.line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  std::string_view line = rest.substr(0, rest.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Blanks as wide as a text, which bring the caret under a column (tabs stay tabs, a UTF-8 character is one wide).
std::string blank_like(std::string_view text) {
  std::string blank;
  for (const char c : text)
    if (!continues_character(c)) blank += c == '\t' ? '\t' : ' ';
  return blank;
}

struct Quote {
  std::string text, before_caret;
};

// A long line (JSON is often one) is cut to a window around the column.
Quote quote(std::string_view line, int column) {
  std::size_t at = std::min(static_cast<std::size_t>(std::max(column, 1) - 1), line.size());
  if (line.size() <= kQuotedWidth) return {std::string(line), blank_like(line.substr(0, at))};
  std::size_t from = at > kQuotedWidth / 2 ? at - kQuotedWidth / 2 : 0;
  while (from < at && continues_character(line[from])) ++from;
  std::size_t to = std::min(line.size(), from + kQuotedWidth);
  while (to < line.size() && continues_character(line[to])) ++to;
  const std::string_view head = from > 0 ? "..." : "", tail = to < line.size() ? "..." : "";
  return {fmt::format("{}{}{}", head, line.substr(from, to - from), tail),
          std::string(head.size(), ' ') + blank_like(line.substr(from, at - from))};
}

std::string position_of(const Mark& mark) {
  if (!mark.source) return {};
  return mark.line < 1 ? mark.source->name + ": " : fmt::format("{}:{}:{}: ", mark.source->name, mark.line, mark.column);
}

// By optimal string alignment: letters that are inserted, deleted, replaced, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_before, before, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    two_before = std::exchange(before, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({before[j + 1] + 1, row[j] + 1, before[j] + (a[i] == b[j] ? 0 : 1)});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) row[j + 1] = std::min(row[j + 1], two_before[j - 1] + 1);
    }
  }
  return row.back();
}

// A name as it is compared: neither capitals nor the sign between its words say which name is meant, nor do the dashes of an option.
std::string folded(std::string_view name) {
  std::string text(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    else if (c == '_' || c == ' ') c = '-';
  return text;
}

std::string_view file_of(const Diagnostic& d) { return d.mark.source ? std::string_view(d.mark.source->name) : std::string_view(); }

auto key_of(const Diagnostic& d) { return std::make_tuple(file_of(d), d.mark.line, d.mark.column); }

// Each value of a sweep says the same of a wrong key; so does a section that is loaded once per what-if. Hearing it once is enough.
bool same(const Diagnostic& a, const Diagnostic& b) {
  const bool same_place = a.path.empty() ? key_of(a) == key_of(b) : file_of(a) == file_of(b) && a.path == b.path;
  return same_place && a.message == b.message && a.hint == b.hint;
}

}  // namespace

std::string render(const Diagnostic& d) {
  std::string text = position_of(d.mark) + (d.path.empty() ? "" : d.path + ": ") + d.message;
  const auto line = line_of(d.mark);
  if (!line) return d.hint.empty() ? text : text + "\n       " + d.hint;
  const Quote q = quote(*line, d.mark.column);
  text += fmt::format("\n{:>5} | {}\n      | {}^", d.mark.line, q.text, q.before_caret);
  return d.hint.empty() ? text : text + "~~ " + d.hint;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(fmt::format("{}", fmt::join(diagnostics | std::views::transform(render), "\n"))),
      diagnostics_(std::move(diagnostics)) {}

void refuse(std::string path, std::string message, std::string hint) { refuse({}, std::move(path), std::move(message), std::move(hint)); }

void refuse(Mark mark, std::string path, std::string message, std::string hint) {
  throw InputError({Diagnostic{std::move(mark), std::move(path), std::move(message), std::move(hint)}});
}

void Diagnostics::add(Mark mark, std::string path, std::string message, std::string hint) {
  add({std::move(mark), std::move(path), std::move(message), std::move(hint)});
}

void Diagnostics::add(Diagnostic d) {
  constexpr std::size_t kMost = 1000;
  all_.push_back(std::move(d));
  if (all_.size() == kMost) throw_if_any();
}

void Diagnostics::add_all(const InputError& e) { all_.insert(all_.end(), e.diagnostics().begin(), e.diagnostics().end()); }

void Diagnostics::throw_if_any() const {
  if (all_.empty()) return;
  std::vector<Diagnostic> sorted = all_;
  std::ranges::stable_sort(sorted, {}, key_of);
  std::vector<Diagnostic> distinct;
  for (Diagnostic& d : sorted)
    if (std::ranges::none_of(distinct, [&](const Diagnostic& seen) { return same(seen, d); })) distinct.push_back(std::move(d));
  throw InputError(std::move(distinct));
}

std::string nearest_name(std::string_view written, std::span<const std::string> candidates) {
  constexpr std::size_t kLeastBeginning = 3;  // fewer letters begin too many names
  const std::string word = folded(written);
  const std::string* best = nullptr;
  std::size_t best_distance = 2 + written.size() / 4 + 1;
  bool best_begins = false;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    const bool begins = word.size() >= kLeastBeginning && name.starts_with(word);
    const std::size_t distance = edit_distance(word, name), longer = std::max(word.size(), name.size());
    // Half of the letters of a short name would change: not near, as gpus and jobs, or fp8 and fp32. One letter is, if any stays.
    const bool is_near = distance < best_distance && distance < longer && (distance < 2 || 2 * distance < longer + longer / 8);
    const bool is_better = begins ? !best_begins || distance < best_distance : !best_begins && is_near;
    if (is_better) best = &candidate, best_distance = distance, best_begins = begins;
  }
  // Nothing is near: the shortest that has the word in it, as dgx-h100 of h100.
  if (best == nullptr && word.size() >= kLeastBeginning)
    for (const std::string& candidate : candidates)
      if (folded(candidate).find(word) != std::string::npos && (best == nullptr || candidate.size() < best->size())) best = &candidate;
  // Nor that: the longest that the word begins with, as vocab of vocabulary.
  if (best == nullptr)
    for (const std::string& candidate : candidates)
      if (const std::string name = folded(candidate);
          name.size() >= kLeastBeginning && word.starts_with(name) && (best == nullptr || name.size() > best->size()))
        best = &candidate;
  return best ? *best : std::string();
}

std::string suggest(std::string_view word, std::span<const std::string> candidates) {
  if (candidates.empty()) return {};
  if (const std::string name = nearest_name(word, candidates); !name.empty()) return fmt::format("did you mean \"{}\"?", name);
  return fmt::format("one of: {}", fmt::join(candidates, ", "));
}

}  // namespace base
