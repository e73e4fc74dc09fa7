#pragma once
// The parts that the readers of public tables share. Private to this folder.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/csv.hpp"
#include "profiles/measured/measurements.hpp"

namespace measured {

using Names = std::map<std::string, std::string, std::less<>>;  // a public table's names -> ours

// Counts the rows of one table that were left out, by reason; adds one note per reason to the measurements when it is destroyed.
class RowsLeftOut {
 public:
  RowsLeftOut(const CsvTable& table, Measurements& into) : table_(table), into_(into) {}
  RowsLeftOut(const RowsLeftOut&) = delete;
  RowsLeftOut& operator=(const RowsLeftOut&) = delete;
  ~RowsLeftOut() {
    for (const auto& [reason, rows] : rows_) into_.notes.push_back(fmt::format("{}: {} rows left out: {}", table_.file(), rows, reason));
  }

  void add(const std::string& reason) { ++rows_[reason]; }
  // Returns our name for a table's. Returns nullopt where there is none, and counts the row: "REASON NAME".
  std::optional<std::string> ours(const Names& names, const std::string& name, std::string_view reason) {
    const auto at = names.find(name);
    if (at != names.end()) return at->second;
    add(fmt::format("{} {}", reason, name));
    return std::nullopt;
  }

 private:
  const CsvTable& table_;
  Measurements& into_;
  std::map<std::string, int> rows_;
};

// A cell in units of `unit`; nullopt where it is empty.
[[nodiscard]] inline std::optional<double> scaled(std::optional<double> value, double unit) {
  return value ? std::optional(*value * unit) : std::nullopt;
}

}  // namespace measured
