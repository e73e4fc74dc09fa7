#pragma once
// Rows of cells as aligned text, and the figures in them. Private to reports.

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reports {

enum class Align { left, right };

inline constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

class Table {
 public:
  struct Column {
    std::string title;
    Align align;
    std::string unit;  // below the title, where any column has one
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void row(std::vector<std::string> cells) { rows_.push_back({std::move(cells), false}); }
  void heading(std::string text) { rows_.push_back({{std::move(text)}, true}); }  // over the whole width

  // Columns as wide as their widest cell, `gap` blanks between them, nothing after the last. Where that is wider than `width`, titles and
  // cells on the left take several lines, the widest columns first; figures and long words do not, and may leave the table too wide.
  [[nodiscard]] std::string text(std::size_t gap = 2, std::size_t width = kAnyWidth) const;
  // The same in several tables, one below the other, where that is what the width takes: each has the first column and the next ones.
  [[nodiscard]] std::string text_in_parts(std::size_t width) const;
  // Returns the table as Markdown; a heading is a row with its first cell alone.
  [[nodiscard]] std::string markdown() const;
  // Returns the columns of the screen that text(gap) takes at most, headings aside.
  [[nodiscard]] std::size_t width(std::size_t gap = 2) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool heading = false;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  // The same, where no more than `room` is there for all of them.
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t room) const;
  [[nodiscard]] Table only(const std::vector<std::size_t>& columns) const;
  // The narrowest that a column can be.
  [[nodiscard]] std::size_t least_width(std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

[[nodiscard]] inline Table::Column left(std::string title) { return {std::move(title), Align::left, {}}; }
[[nodiscard]] inline Table::Column right(std::string title, std::string unit = {}) {
  return {std::move(title), Align::right, std::move(unit)};
}

// The columns of a table whose rows are values of type R, each described once: its heading, and its cell of a row.
template <class R>
struct Columns {
  std::vector<Table::Column> headings;
  std::vector<std::function<std::string(const R&)>> cells;

  void add(Table::Column heading, std::function<std::string(const R&)> cell) {
    headings.push_back(std::move(heading));
    cells.push_back(std::move(cell));
  }
  [[nodiscard]] std::vector<std::string> row(const R& r) const {
    std::vector<std::string> row;
    for (const auto& cell : cells) row.push_back(cell(r));
    return row;
  }
};

// Returns the number of characters of UTF-8 text, without the escape sequences that colour it.
[[nodiscard]] std::size_t width_of(const std::string& text);

// Returns the text in lines of at most `width` characters, broken at blanks, but not after a number (a longer word has a line of its own).
// `text` has no line breaks. Never empty.
[[nodiscard]] std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// Returns the text in lines of at most `width`, each with its end; the first as far in as the text is, the others two columns farther.
[[nodiscard]] std::string hanging(const std::string& text, std::size_t width);

// Returns the text beside a label that takes `room` columns, in lines of at most `width`, each with its end; further ones below the text.
[[nodiscard]] std::string labelled(std::string_view label, std::size_t room, const std::string& text, std::size_t width);

// Returns "12.3 %" of a share of 1.
[[nodiscard]] std::string percent(double share);

}  // namespace reports
