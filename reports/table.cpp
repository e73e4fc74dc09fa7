#include "reports/table.hpp"

#include <fmt/core.h>

#include <algorithm>

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

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& c : columns_) widths.push_back(width_of(c.title));
  for (const Row& r : rows_)
    for (std::size_t i = 0; !r.heading && i < r.cells.size(); ++i) widths[i] = std::max(widths[i], width_of(r.cells[i]));

  std::string out;
  const auto line = [&](const auto& cell, std::size_t count) {
    std::string l;  // blanks at the end are cut, so that a pasted table has none
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& text = cell(i);
      const std::string blanks(widths[i] - width_of(text), ' ');
      l += (i == 0 ? "" : "  ") + (columns_[i].align == Align::right ? blanks + text : text + blanks);
    }
    out += l.substr(0, l.find_last_not_of(' ') + 1) + "\n";
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; }, columns_.size());
  for (const Row& r : rows_) {
    if (r.heading) out += r.cells[0] + "\n";
    else line([&](std::size_t i) -> const std::string& { return r.cells[i]; }, r.cells.size());
  }
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace reports
