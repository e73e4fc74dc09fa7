#include "profiles/measured/measurements.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/numbers.hpp"
#include "profiles/measured/tables.hpp"

namespace measured {

CsvTable::CsvTable(std::string_view text, std::string file) : file_(std::move(file)), table_(base::parse_csv(std::string(text), file_)) {}

bool CsvTable::has_all(std::span<const std::string_view> columns) const {
  return std::ranges::all_of(columns, [&](std::string_view c) { return table_.find(c).has_value(); });
}

const std::string& CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto at = table_.find(column);
  BASE_CHECK(at.has_value(), "{} has no column {}", file_, column);
  return row.cells[*at];
}

std::optional<double> CsvTable::number(const CsvRow& row, std::string_view column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) return std::nullopt;
  const auto value = base::parse_number(text);
  if (!value) complain(row, fmt::format("{}: \"{}\" is no number", column, text));
  return value;
}

std::string CsvTable::source(const CsvRow& row) const { return fmt::format("{}:{}", file_, row.mark.line); }

void CsvTable::complain(const CsvRow& row, const std::string& message, std::string hint) const {
  base::refuse("", fmt::format("{}: {}", source(row), message), std::move(hint));
}

Measurements read_measurements(std::string_view text, const std::string& file) {
  const CsvTable table(text, file);
  Measurements m;
  if (read_kernel_table(table, m) || read_collective_table(table, m)) return m;
  base::refuse("", fmt::format("{}:1: no table of measurements has the columns {}", file, fmt::join(table.columns(), ", ")),
               "docs/formats/measurements.md says which are read");
}

}  // namespace measured
