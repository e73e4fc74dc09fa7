#pragma once
// What the readers of public tables share. Private to this folder.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "base/csv.hpp"
#include "measurements/measurements.hpp"

namespace measurements {

// Counts the rows of one table that were left out, by reason; adds one note per reason to the measurements when it goes.
class RowsLeftOut {
 public:
  RowsLeftOut(const CsvTable& table, Measurements& into) : table_(table), into_(into) {}
  RowsLeftOut(const RowsLeftOut&) = delete;
  RowsLeftOut& operator=(const RowsLeftOut&) = delete;
  ~RowsLeftOut() {
    for (const auto& [reason, rows] : rows_) into_.notes.push_back(fmt::format("{}: {} rows left out: {}", table_.file(), rows, reason));
  }

  void add(const std::string& reason) { ++rows_[reason]; }

 private:
  const CsvTable& table_;
  Measurements& into_;
  std::map<std::string, int> rows_;
};

// A cell in units of `unit`; nullopt where it is empty.
[[nodiscard]] inline std::optional<double> scaled(std::optional<double> value, double unit) {
  return value ? std::optional(*value * unit) : std::nullopt;
}

}  // namespace measurements
