#pragma once
// A table of measurements (base/csv.hpp) whose cells are looked up by column. Shared by the readers of measurements; not for anything else.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measurements/measurements.hpp"

namespace measurements {

struct CsvRow {
  std::size_t line = 0;            // in the file, from 1
  std::vector<std::string> cells;  // one per column
};

struct CsvTable {
  std::string file;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  [[nodiscard]] bool has(std::string_view column) const;
  [[nodiscard]] bool has_all(std::initializer_list<std::string_view> columns) const;
  // Requires: has(column).
  [[nodiscard]] const std::string& cell(const CsvRow& row, std::string_view column) const;
  // Throws: base::InputError when the cell is no finite number; an empty one gives nullopt.
  [[nodiscard]] std::optional<double> number(const CsvRow& row, std::string_view column) const;
  [[nodiscard]] std::string source(const CsvRow& row) const;  // "FILE:LINE"
  // Throws: base::InputError that names the row's line.
  [[noreturn]] void complain(const CsvRow& row, std::string message, std::string hint = {}) const;
};

// Throws: base::InputError, as base::parse_csv.
[[nodiscard]] CsvTable read_csv(std::string_view text, const std::string& file);

// Rows of a table of kernels (or collectives) go into `into`; false when the header is none of theirs.
[[nodiscard]] bool read_kernel_table(const CsvTable& t, Measurements& into);
[[nodiscard]] bool read_collective_table(const CsvTable& t, Measurements& into);

}  // namespace measurements
