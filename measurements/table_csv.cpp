#include "measurements/table_csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/csv.hpp"
#include "base/diagnostics.hpp"

namespace measurements {
namespace {

[[noreturn]] void fail(const std::string& file, std::size_t line, std::string message, std::string hint = {}) {
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("{}:{}: {}", file, line, message), std::move(hint));
  sink.throw_if_any();
  BASE_CHECK(false, "not reached");
}

}  // namespace

bool CsvTable::has(std::string_view column) const { return std::ranges::find(header, column) != header.end(); }

bool CsvTable::has_all(std::initializer_list<std::string_view> columns) const {
  return std::ranges::all_of(columns, [&](std::string_view c) { return has(c); });
}

const std::string& CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto at = std::ranges::find(header, column);
  BASE_CHECK(at != header.end(), "{} has no column {}", file, column);
  return row.cells[static_cast<std::size_t>(at - header.begin())];
}

std::optional<double> CsvTable::number(const CsvRow& row, std::string_view column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    complain(row, fmt::format("{}: \"{}\" is no number", column, text));
  return value;
}

std::string CsvTable::source(const CsvRow& row) const { return fmt::format("{}:{}", file, row.line); }

void CsvTable::complain(const CsvRow& row, std::string message, std::string hint) const {
  fail(file, row.line, std::move(message), std::move(hint));
}

CsvTable read_csv(std::string_view text, const std::string& file) {
  base::CsvTable parsed = base::parse_csv(std::string(text), file);
  CsvTable t{file, std::move(parsed.columns), {}};
  for (base::CsvRow& row : parsed.rows) t.rows.push_back({static_cast<std::size_t>(row.mark.line), std::move(row.cells)});
  return t;
}

}  // namespace measurements
