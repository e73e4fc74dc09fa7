#include "base/csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

namespace base {
namespace {

constexpr std::size_t kMostProblems = 20;  // a file of another kind is wrong in every row: the first few suffice

// The largest public tables of kernels have a million cells.
constexpr std::size_t kMostColumns = 1000, kMostCells = 5'000'000;

class Reader {
 public:
  Reader(std::string text, std::string name) : source_(std::make_shared<Source>(Source{std::move(name), std::move(text)})) {}

  CsvTable read() {
    const std::string& text = source_->text;
    if (text.find('\0') != std::string::npos) sink_.add(mark(), "", "this is no text");
    if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte-order mark, as spreadsheets write it
    sink_.throw_if_any();
    CsvTable table;
    while (at_ < text.size()) {
      if (text[at_] == '#') {
        at_ = std::min(text.find('\n', at_), text.size() - 1) + 1;
        ++line_;
        continue;
      }
      CsvRow row = read_row();
      if (row.cells.size() == 1 && row.cells[0].empty()) continue;  // an empty line
      if (table.columns.empty()) begin(table, std::move(row));
      else add(table, std::move(row));
    }
    if (table.columns.empty()) sink_.add(mark(), "", "the file is empty", "expected a header and rows, separated by commas");
    else if (table.rows.empty() && sink_.empty()) sink_.add(table.mark, "", "there are no rows below the header");
    sink_.throw_if_any();
    return table;
  }

 private:
  Mark mark() const { return {source_, line_, 1}; }

  CsvRow read_row() {
    const std::string& text = source_->text;
    CsvRow row{mark(), {std::string()}};
    bool quoted = false;
    for (; at_ < text.size(); ++at_) {
      const char c = text[at_];
      if (c == '\n') ++line_;
      if (quoted && c == '"' && at_ + 1 < text.size() && text[at_ + 1] == '"') row.cells.back() += text[++at_];
      else if (c == '"' && (quoted || row.cells.back().empty())) quoted = !quoted;
      else if (quoted) row.cells.back() += c;
      else if (c == ',') row.cells.emplace_back();
      else if (c == '\n') break;
      else if (c != '\r') row.cells.back() += c;
    }
    ++at_;
    cells_ += row.cells.size();
    if (row.cells.size() > kMostColumns || cells_ > kMostCells) {
      sink_.add(row.mark, "", fmt::format("more than {} columns, or {} cells in all", kMostColumns, kMostCells));
      sink_.throw_if_any();
    }
    if (quoted) sink_.add(row.mark, "", "a quote in this row is never closed");
    return row;
  }

  void begin(CsvTable& table, CsvRow row) {
    table.mark = row.mark;
    table.columns = std::move(row.cells);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (std::find(table.columns.begin(), table.columns.begin() + static_cast<std::ptrdiff_t>(i), table.columns[i]) !=
          table.columns.begin() + static_cast<std::ptrdiff_t>(i))
        sink_.add(table.mark, "", fmt::format("two columns are called \"{}\"", table.columns[i]));
  }

  void add(CsvTable& table, CsvRow row) {
    if (row.cells.size() == table.columns.size()) table.rows.push_back(std::move(row));
    else if (sink_.size() < kMostProblems)
      sink_.add(row.mark, "", fmt::format("{} cells, but the header has {} columns", row.cells.size(), table.columns.size()),
                "is the file cut off?");
  }

  std::shared_ptr<const Source> source_;
  std::size_t at_ = 0, cells_ = 0;
  int line_ = 1;
  Diagnostics sink_;
};

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto at = std::ranges::find(columns, column);
  if (at == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns.begin());
}

CsvTable parse_csv(std::string text, std::string name) { return Reader(std::move(text), std::move(name)).read(); }

}  // namespace base
