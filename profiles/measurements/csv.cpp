#include "profiles/measurements/csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace profiles {
namespace {

[[noreturn]] void fail(const std::string& file, std::size_t line, std::string message, std::string hint = {}) {
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("{}:{}: {}", file, line, message), std::move(hint));
  sink.throw_if_any();
  BASE_CHECK(false, "not reached");
}

// Cells of rows; quoted cells may hold commas and line ends.
class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<CsvRow> rows() {
    std::vector<CsvRow> all;
    while (at_ < text_.size()) {
      CsvRow row{line_, {}};
      do row.cells.push_back(cell());
      while (take(','));
      take('\r');
      if (at_ < text_.size() && !take('\n')) fail(file_, line_, "text after a closing quote");
      ++line_;
      const bool blank = row.cells.size() == 1 && row.cells[0].empty();
      const bool comment = !row.cells[0].empty() && row.cells[0][0] == '#';
      if (!blank && !comment) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string cell() {
    if (take('"')) return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string s(text_.substr(at_, end - at_));
    at_ = end;
    return s;
  }
  std::string quoted() {
    std::string s;
    const std::size_t from = line_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        s += c;
      } else if (!take('"')) {
        return s;
      } else {
        s += '"';
      }
    }
    fail(file_, from, "a quote is not closed");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

bool CsvTable::has(std::string_view column) const { return std::ranges::find(header, column) != header.end(); }

bool CsvTable::has_all(std::initializer_list<std::string_view> columns) const {
  return std::ranges::all_of(columns, [&](std::string_view c) { return has(c); });
}

const std::string& CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto at = std::ranges::find(header, column);
  BASE_CHECK(at != header.end(), "{} has no column {}", file, column);
  return row.cells[static_cast<std::size_t>(at - header.begin())];
}

std::optional<double> CsvTable::number(const CsvRow& row, std::string_view column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    complain(row, fmt::format("{}: \"{}\" is no number", column, text));
  return value;
}

std::string CsvTable::source(const CsvRow& row) const { return fmt::format("{}:{}", file, row.line); }

void CsvTable::complain(const CsvRow& row, std::string message, std::string hint) const {
  fail(file, row.line, std::move(message), std::move(hint));
}

CsvTable read_csv(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvTable t{file, {}, CsvParser(text, file).rows()};
  if (t.rows.empty()) fail(file, 1, "the file is empty", "a table of measurements starts with the names of its columns");
  t.header = std::move(t.rows.front().cells);
  t.rows.erase(t.rows.begin());
  for (const CsvRow& row : t.rows)
    if (row.cells.size() != t.header.size())
      t.complain(row, fmt::format("{} cells, but the header names {} columns", row.cells.size(), t.header.size()), "is the file cut off?");
  return t;
}

}  // namespace profiles
