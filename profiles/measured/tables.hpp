#pragma once
// A table of measurements: base/csv.hpp, with cells looked up by column and the reader's refusals. Shared by the readers of measurements;
// not for anything else.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.hpp"
#include "profiles/measured/measurements.hpp"

namespace measured {

using base::CsvRow;

class CsvTable {
 public:
  // Throws: base::InputError, as base::parse_csv.
  CsvTable(std::string_view text, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return table_.columns; }
  [[nodiscard]] const std::vector<CsvRow>& rows() const { return table_.rows; }
  [[nodiscard]] bool has_all(std::span<const std::string_view> columns) const;
  // Requires: the table has the column.
  [[nodiscard]] const std::string& cell(const CsvRow& row, std::string_view column) const;
  // Returns the number in a cell, nullopt where it is empty.
  // Throws: base::InputError when it is no finite number.
  [[nodiscard]] std::optional<double> number(const CsvRow& row, std::string_view column) const;
  [[nodiscard]] std::string source(const CsvRow& row) const;  // "FILE:LINE"
  // Throws: base::InputError that names the row's line.
  [[noreturn]] void complain(const CsvRow& row, const std::string& message, std::string hint = {}) const;

 private:
  std::string file_;
  base::CsvTable table_;
};

// Counts the rows of a table that are left out, by reason; the measurements get one note per reason when this is destroyed.
class LeftOutRows {
 public:
  LeftOutRows(const CsvTable& table, Measurements& into) : table_(table), into_(into) {}
  LeftOutRows(const LeftOutRows&) = delete;
  LeftOutRows& operator=(const LeftOutRows&) = delete;
  ~LeftOutRows() {
    for (const auto& [reason, rows] : rows_) into_.notes.push_back(fmt::format("{}: {} rows left out: {}", table_.file(), rows, reason));
  }
  void add(const std::string& reason) { ++rows_[reason]; }

 private:
  const CsvTable& table_;
  Measurements& into_;
  std::map<std::string, int> rows_;
};

// Puts the rows of a table of kernels into `into`. Returns false when it has not all of their columns.
// Throws: base::InputError when a cell is not what its column holds.
[[nodiscard]] bool read_kernel_table(const CsvTable& t, Measurements& into);
// Returns our own table; read_kernel_table reads it back.
[[nodiscard]] std::string to_csv(const std::vector<KernelMeasurement>& kernels);

// Puts the rows of a table of collectives into `into`. Returns false when it has not all of their columns.
// Throws: base::InputError when a cell is not what its column holds.
[[nodiscard]] bool read_collective_table(const CsvTable& t, Measurements& into);
// Returns our own table. read_collective_table reads it back where every row names its cluster.
[[nodiscard]] std::string to_csv(const std::vector<CollectiveMeasurement>& collectives);

}  // namespace measured
