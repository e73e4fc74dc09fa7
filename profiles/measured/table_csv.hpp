#pragma once
// A table of measurements: base/csv.hpp, with cells looked up by column and the reader's refusals. Shared by the readers of measurements;
// not for anything else.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/csv.hpp"

namespace measured {

using base::CsvRow;

class CsvTable {
 public:
  // Throws: base::InputError, as base::parse_csv.
  CsvTable(std::string_view text, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return table_.columns; }
  [[nodiscard]] const std::vector<CsvRow>& rows() const { return table_.rows; }
  [[nodiscard]] bool has_all(std::initializer_list<std::string_view> columns) const;
  // Requires: the table has the column.
  [[nodiscard]] const std::string& cell(const CsvRow& row, std::string_view column) const;
  // Returns the number in a cell, nullopt where it is empty. Throws: base::InputError when it is no finite number.
  [[nodiscard]] std::optional<double> number(const CsvRow& row, std::string_view column) const;
  [[nodiscard]] std::string source(const CsvRow& row) const;  // "FILE:LINE"
  // Throws: base::InputError that names the row's line.
  [[noreturn]] void complain(const CsvRow& row, const std::string& message, std::string hint = {}) const;

 private:
  std::string file_;
  base::CsvTable table_;
};

}  // namespace measured
