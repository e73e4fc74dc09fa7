#include "profiles/measured/measurements.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/diagnostics.hpp"
#include "profiles/measured/tables.hpp"

namespace measured {

Measurements read_measurements(std::string_view text, const std::string& file) {
  const CsvTable table(text, file);
  Measurements m;
  if (read_kernel_table(table, m) || read_collective_table(table, m)) return m;
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("{}:1: no table of measurements has the columns {}", file, fmt::join(table.columns(), ", ")),
           "docs/formats.md, \"Measurements\", says which are read");
  sink.throw_if_any();
  return m;
}

}  // namespace measured
