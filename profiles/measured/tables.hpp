#pragma once
// A table of measurements: base/csv.hpp, with cells looked up by column and the reader's refusals. Shared by the readers of measurements;
// not for anything else.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  [[nodiscard]] bool has_all(const std::vector<std::string_view>& columns) const;
  // Requires: the table has the column.
  [[nodiscard]] const std::string& cell(const CsvRow& row, std::string_view column) const;
  // Returns the number in a cell times `unit`, nullopt where it is empty.
  // Throws: base::InputError when it is no finite number.
  [[nodiscard]] std::optional<double> number(const CsvRow& row, std::string_view column, double unit = 1) const;
  [[nodiscard]] std::string source(const CsvRow& row) const;  // "FILE:LINE"
  // Throws: base::InputError that names the row's line.
  [[noreturn]] void complain(const CsvRow& row, const std::string& message, std::string hint = {}) const;

 private:
  std::string file_;
  base::CsvTable table_;
};

using Names = std::map<std::string, std::string, std::less<>>;  // a public table's names -> ours

// The rows of one table on their way into the measurements. Those that are left out are counted by reason; the measurements get one note
// per reason when this is destroyed.
class TableRows {
 public:
  TableRows(const CsvTable& table, Measurements& into) : t_(table), into_(into) {}
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;
  ~TableRows() {
    for (const auto& [reason, rows] : left_out_) into_.notes.push_back(fmt::format("{}: {} rows left out: {}", t_.file(), rows, reason));
  }

  void leave_out(const std::string& reason) { ++left_out_[reason]; }
  // Returns our name for a table's. Returns nullopt where there is none, and counts the row: "REASON NAME".
  std::optional<std::string> ours(const Names& names, const std::string& name, std::string_view reason) {
    const auto at = names.find(name);
    if (at != names.end()) return at->second;
    leave_out(fmt::format("{} {}", reason, name));
    return std::nullopt;
  }

 protected:
  const CsvTable& t_;
  Measurements& into_;

 private:
  std::map<std::string, int> left_out_;
};

// Tables that are recognised by their columns, with their readers. Rows: a TableRows.
template <class Rows>
using KnownTables = std::vector<std::pair<std::vector<std::string_view>, void (*)(const CsvTable&, Rows&)>>;

// Lets the first that knows the table's columns read it. Returns false when none does.
template <class Rows>
[[nodiscard]] bool read_known(const KnownTables<Rows>& known, const CsvTable& t, Measurements& into) {
  const auto at = std::ranges::find_if(known, [&](const auto& k) { return t.has_all(k.first); });
  if (at == known.end()) return false;
  Rows rows(t, into);
  at->second(t, rows);
  return true;
}

// Puts the rows of a table of kernels into `into`. Returns false when the header is none of theirs.
// Throws: base::InputError when a cell is not what its column holds.
[[nodiscard]] bool read_kernel_table(const CsvTable& t, Measurements& into);
// Returns our own table; read_kernel_table reads it back.
[[nodiscard]] std::string to_csv(const std::vector<KernelMeasurement>& kernels);

// Puts the rows of a table of collectives into `into`. Returns false when the header is none of theirs.
// Throws: base::InputError when a cell is not what its column holds.
[[nodiscard]] bool read_collective_table(const CsvTable& t, Measurements& into);
// Returns our own table. read_collective_table reads it back where every row names its cluster.
[[nodiscard]] std::string to_csv(const std::vector<CollectiveMeasurement>& collectives);

}  // namespace measured
