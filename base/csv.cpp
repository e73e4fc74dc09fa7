#include "base/csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

namespace base {
namespace {

constexpr std::size_t kMostProblems = 20;  // a file of another kind is wrong in every row: the first few suffice

// The largest public tables of kernels have a million cells.
constexpr std::size_t kMostColumns = 1000, kMostCells = 5'000'000;

struct CsvReading {
  std::shared_ptr<const Source> source;
  std::size_t at = 0, cells = 0;
  int line = 1;
  Diagnostics sink;
};

Mark mark(const CsvReading& r) { return {r.source, r.line, 1}; }

CsvRow read_row(CsvReading& r) {
  const std::string& text = r.source->text;
  CsvRow row{mark(r), {std::string()}};
  bool quoted = false;
  for (; r.at < text.size(); ++r.at) {
    const char c = text[r.at];
    if (c == '\n') ++r.line;
    if (quoted && c == '"' && r.at + 1 < text.size() && text[r.at + 1] == '"') row.cells.back() += text[++r.at];
    else if (c == '"' && (quoted || row.cells.back().empty())) quoted = !quoted;
    else if (quoted) row.cells.back() += c;
    else if (c == ',') row.cells.emplace_back();
    else if (c == '\n') break;
    else if (c != '\r') row.cells.back() += c;
  }
  ++r.at;
  r.cells += row.cells.size();
  if (row.cells.size() > kMostColumns || r.cells > kMostCells) {
    r.sink.add(row.mark, "", fmt::format("more than {} columns, or {} cells in all", kMostColumns, kMostCells));
    r.sink.throw_if_any();
  }
  if (quoted) r.sink.add(row.mark, "", "a quote in this row is never closed");
  return row;
}

void begin(CsvReading& r, CsvTable& table, CsvRow row) {
  table.mark = row.mark;
  table.columns = std::move(row.cells);
  if (const std::size_t sign = table.columns[0].find_first_of(";\t"); table.columns.size() == 1 && sign != std::string::npos) {
    r.sink.add(table.mark, "", fmt::format("columns are separated by {}", table.columns[0][sign] == ';' ? "semicolons" : "tabs"),
               "separate them by commas");
    r.sink.throw_if_any();
  }
  for (auto c = table.columns.begin(); c != table.columns.end(); ++c)
    if (std::find(table.columns.begin(), c, *c) != c) r.sink.add(table.mark, "", fmt::format("two columns are called \"{}\"", *c));
}

void add(CsvReading& r, CsvTable& table, CsvRow row) {
  if (row.cells.size() == table.columns.size()) table.rows.push_back(std::move(row));
  else if (r.sink.size() < kMostProblems)
    r.sink.add(row.mark, "", fmt::format("{} cells, but the header has {} columns", row.cells.size(), table.columns.size()),
               "is the file cut off?");
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto at = std::ranges::find(columns, column);
  return at == columns.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - columns.begin()));
}

CsvTable parse_csv(std::string written, std::string name) {
  CsvReading r{.source = std::make_shared<Source>(Source{std::move(name), std::move(written)}), .sink = {}};
  const std::string& text = r.source->text;
  if (text.find('\0') != std::string::npos) r.sink.add(mark(r), "", "this is no text");
  if (text.starts_with("\xEF\xBB\xBF")) r.at = 3;  // a byte-order mark, as spreadsheets write it
  r.sink.throw_if_any();
  CsvTable table;
  while (r.at < text.size()) {
    if (text[r.at] == '#') {
      r.at = std::min(text.find('\n', r.at), text.size() - 1) + 1;
      ++r.line;
      continue;
    }
    CsvRow row = read_row(r);
    if (row.cells.size() == 1 && row.cells[0].empty()) continue;  // an empty line
    if (table.columns.empty()) begin(r, table, std::move(row));
    else add(r, table, std::move(row));
  }
  if (table.columns.empty()) r.sink.add(mark(r), "", "the file is empty", "expected a header and rows, separated by commas");
  else if (table.rows.empty() && r.sink.empty()) r.sink.add(table.mark, "", "there are no rows below the header");
  r.sink.throw_if_any();
  return table;
}

}  // namespace base
