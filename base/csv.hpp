#pragma once
// Comma-separated text as rows of cells that know where they are (RFC 4180: quotes, doubled quotes, line ends inside quotes). Empty lines
// and lines that start with # are skipped. Not here: what the columns mean.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"

namespace base {

struct CsvRow {
  Mark mark;                       // of the row's first character
  std::vector<std::string> cells;  // one per column
};

struct CsvTable {
  Mark mark;  // of the header
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
};

// Throws: InputError for an empty text, one that is no text, a header without rows, a column named twice, a row with more or fewer cells
// than the header, or a quote that is never closed; the first twenty or so at once.
[[nodiscard]] CsvTable parse_csv(std::string text, std::string name);

}  // namespace base
