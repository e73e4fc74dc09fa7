#include "reports/layout/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.hpp"

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

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(std::max(width_of(c.title), width_of(c.unit)));
  for (const Row& r : rows_)
    for (std::size_t i = 0; !r.heading && i < r.cells.size(); ++i) widths[i] = std::max(widths[i], width_of(r.cells[i]));
  return widths;
}

std::size_t Table::width(std::size_t gap) const {
  std::size_t sum = gap * (columns_.size() - 1);
  for (const std::size_t w : widths()) sum += w;
  return sum;
}

std::string Table::text(std::size_t gap) const {
  const std::vector<std::size_t> widths = this->widths();
  std::string out;
  const auto line = [&](const auto& cell, std::size_t count) {
    std::string l;  // blanks at the end are cut, so that a pasted table has none
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& text = cell(i);
      const std::string blanks(widths[i] - width_of(text), ' ');
      l += std::string(i == 0 ? 0 : gap, ' ') + (columns_[i].align == Align::right ? blanks + text : text + blanks);
    }
    out += l.substr(0, l.find_last_not_of(' ') + 1) + "\n";
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

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace reports
