#include "profiles/measured/steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "base/csv.hpp"
#include "base/numbers.hpp"

namespace measured {
namespace {

enum Column : std::uint8_t { point, kernel, count, seconds };
const std::vector<std::string> kStepColumns = {"point", "kernel", "count", "seconds"};  // as Column has them
constexpr std::string_view kStepHeader = "point,kernel,count,seconds", kPointsComment = "# points:";

std::vector<std::string> tables_named_in(const std::string& text) {
  std::vector<std::string> tables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kPointsComment)) continue;
    std::istringstream words(line.substr(kPointsComment.size()));
    for (std::string word; words >> word;) tables.push_back(word);
  }
  return tables;
}

double above_zero(const base::CsvRow& row, Column column, base::Diagnostics& sink) {
  const auto value = base::parse_number(row.cells[column]);
  if (value && *value > 0) return *value;
  sink.add(row.mark, kStepColumns[column], fmt::format("\"{}\" is no number above 0", row.cells[column]));
  return 1;
}

}  // namespace

bool is_step_table(std::string_view text) {
  while (text.starts_with('#')) {
    const std::size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return text.starts_with(kStepHeader);
}

StepTable read_steps(std::string text, const std::string& file) {
  StepTable t{file, {}, tables_named_in(text)};
  const base::CsvTable table = base::parse_csv(std::move(text), file);
  base::Diagnostics sink;
  if (table.columns != kStepColumns)
    sink.add(table.mark, "", "the columns are not those of a step table", fmt::format("write {}", kStepHeader));
  sink.throw_if_any();
  for (const base::CsvRow& row : table.rows) {
    for (const Column c : {point, kernel})
      if (row.cells[c].empty()) sink.add(row.mark, kStepColumns[c], "the cell is empty");
    const StepKernel k{row.cells[kernel], above_zero(row, count, sink), base::Seconds(above_zero(row, seconds, sink)), row.mark};
    auto at = std::ranges::find(t.steps, row.cells[point], &Step::point);
    if (at == t.steps.end()) at = t.steps.insert(at, Step{row.cells[point], {}, row.mark});
    at->kernels.push_back(k);
  }
  sink.throw_if_any();
  return t;
}

}  // namespace measured
