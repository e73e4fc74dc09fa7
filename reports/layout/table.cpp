#include "reports/layout/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/diagnostics.hpp"

namespace reports {

// An escape sequence begins with ESC and ends with m; it takes no room on the screen.
std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033') escape = true;
    else if (escape) escape = c != 'm';
    else if (!base::continues_character(c)) ++width;
  }
  return width;
}

namespace {

constexpr std::size_t kReadable = 8;  // columns: text is not made narrower

// As it is where it fits, with all its blanks; else broken, each line as far in as the first.
std::vector<std::string> cell_lines(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return {text};
  const std::size_t in = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines = wrapped(text.substr(in), width - std::min(width, in));
  for (std::string& l : lines) l.insert(0, in, ' ');
  return lines;
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(std::max(width_of(c.title), width_of(c.unit)));
  for (const Row& r : rows_)
    for (std::size_t i = 0; !r.heading && i < r.cells.size(); ++i) widths[i] = std::max(widths[i], width_of(r.cells[i]));
  return widths;
}

std::string Table::markdown() const {
  const auto cell = [](const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
    while (out.ends_with(' ')) out.pop_back();  // blanks align marks on a screen
    return out;
  };
  std::string head = "|", rule = "|", out;
  for (const Column& c : columns_) {
    head += fmt::format(" {} |", c.unit.empty() ? cell(c.title) : fmt::format("{} ({})", cell(c.title), cell(c.unit)));
    rule += c.align == Align::right ? "---:|" : "---|";
  }
  for (const Row& row : rows_) {
    out += "|";
    for (std::size_t c = 0; c < columns_.size(); ++c) out += fmt::format(" {} |", c < row.cells.size() ? cell(row.cells[c]) : "");
    out += "\n";
  }
  return head + "\n" + rule + "\n" + out;
}

std::size_t Table::width(std::size_t gap) const {
  std::size_t sum = gap * (columns_.size() - 1);
  for (const std::size_t w : widths()) sum += w;
  return sum;
}

std::size_t Table::least_width(std::size_t column) const {
  std::size_t least = 0;
  const auto longest_line = [&](const std::string& text, std::size_t width) {
    for (const std::string& l : cell_lines(text, width)) least = std::max(least, width_of(l));
  };
  longest_line(columns_[column].title, 0);
  least = std::max(least, width_of(columns_[column].unit));
  for (const Row& r : rows_)
    if (!r.heading && column < r.cells.size()) longest_line(r.cells[column], columns_[column].align == Align::left ? kReadable : kAnyWidth);
  return least;
}

std::vector<std::size_t> Table::widths_within(std::size_t room) const {
  std::vector<std::size_t> now = widths(), least;
  std::size_t sum = std::accumulate(now.begin(), now.end(), std::size_t{0});
  if (sum <= room) return now;
  for (std::size_t i = 0; i < now.size(); ++i) least.push_back(std::min(now[i], least_width(i)));
  while (sum > room) {
    std::size_t widest = now.size();
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] > least[i] && (widest == now.size() || now[i] > now[widest])) widest = i;
    if (widest == now.size()) break;
    --now[widest];
    --sum;
  }
  return now;
}

std::string Table::text(std::size_t gap, std::size_t width) const {
  const std::size_t gaps = gap * (columns_.size() - 1);
  const std::vector<std::size_t> widths = widths_within(width - std::min(width, gaps));
  std::string out;
  const auto line = [&](const auto& cell, std::size_t count) {
    std::vector<std::vector<std::string>> cells;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < count; ++i) {
      cells.push_back(cell_lines(cell(i), widths[i]));
      lines = std::max(lines, cells.back().size());
    }
    for (std::size_t n = 0; n < lines; ++n) {
      std::string l;  // blanks at the end are cut, so that a pasted table has none
      for (std::size_t i = 0; i < count; ++i) {
        const std::string text = n < cells[i].size() ? cells[i][n] : "";
        const std::string blanks(widths[i] - width_of(text), ' ');
        l += std::string(i == 0 ? 0 : gap, ' ') + (columns_[i].align == Align::right ? blanks + text : text + blanks);
      }
      out += l.substr(0, l.find_last_not_of(' ') + 1) + "\n";
    }
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; }, columns_.size());
  if (std::ranges::any_of(columns_, [](const Column& c) { return !c.unit.empty(); }))
    line([&](std::size_t i) -> const std::string& { return columns_[i].unit; }, columns_.size());
  for (const Row& r : rows_) {
    if (r.heading) out += r.cells[0] + "\n";
    else line([&](std::size_t i) -> const std::string& { return r.cells[i]; }, r.cells.size());
  }
  return out;
}

Table Table::only(const std::vector<std::size_t>& columns) const {
  Table part({});
  for (const std::size_t c : columns) part.columns_.push_back(columns_[c]);
  for (const Row& r : rows_) {
    if (r.heading) part.rows_.push_back(r);
    else part.rows_.emplace_back();
    for (const std::size_t c : columns)
      if (!r.heading) part.rows_.back().cells.push_back(r.cells[c]);
  }
  return part;
}

std::string Table::text_in_parts(std::size_t width) const {
  constexpr std::size_t kGap = 2;
  std::string out;
  for (std::size_t next = 1; next < columns_.size();) {
    std::vector<std::size_t> columns{0};
    std::size_t sum = least_width(0);
    do {
      columns.push_back(next);
      sum += kGap + least_width(next++);
    } while (next < columns_.size() && sum + kGap + least_width(next) <= width);
    out += (out.empty() ? "" : "\n") + only(columns).text(kGap, width);
  }
  return out;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    // A number stays with its unit.
    if (end > at && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end - 1])) != 0)
      end = std::min(text.find(' ', end + 1), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& line = lines.back();
    if (line.empty()) line = word;
    else if (width_of(line) + 1 + width_of(word) <= width) line += " " + word;
    else lines.push_back(word);
    at = end + 1;
  }
  return lines;
}

std::string hanging(const std::string& text, std::size_t width) {
  const std::size_t in = std::min(text.find_first_not_of(' '), text.size());
  const std::string margin(in, ' ');
  std::string out;
  for (const std::string& l : wrapped(text.substr(in), width - std::min(width, in + 2)))
    out += margin + (out.empty() ? "" : "  ") + l + "\n";
  return out;
}

std::string labelled(std::string_view label, std::size_t room, const std::string& text, std::size_t width) {
  std::string out;
  for (const std::string& l : wrapped(text, width - room)) out += fmt::format("{:<{}}{}\n", out.empty() ? label : "", room, l);
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace reports
