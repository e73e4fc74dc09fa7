#pragma once
// The table of capacity planning: one row per candidate, number of nodes and plan. Private to this folder.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/answer/result.hpp"

namespace reports {

// One unit for all figures of a column: the largest in which the least of them is at least 1, or the smallest unit.
struct ColumnUnit {
  const char* name;
  double size;
};
struct ColumnUnits {
  ColumnUnit time, money, energy;
};

// Columns that have something to say.
struct ShownColumns {
  bool costs = false, energy = false, deadline = false, budget = false, owned = false;
};

// An answer, and how its figures are written.
struct CapacityView {
  const scenarios::CapacityResult& capacity;
  const std::vector<scenarios::Run>& runs;
  ColumnUnits units;
  ShownColumns shown;
};

// Requires: the scenario asks for capacity planning; the answer outlives the view.
[[nodiscard]] CapacityView capacity_view(const scenarios::ScenarioResult& answer);

// Returns a figure with three digits in the unit, without its name; an interval of two: "18 to 24".
[[nodiscard]] std::string figure(double value, const ColumnUnit& unit);
[[nodiscard]] std::string range_text(double low, double high, const ColumnUnit& unit);
// "-" where there is no such limit.
[[nodiscard]] std::string word_of(const std::optional<scenarios::Chance>& c);

// Returns the rows below headings of candidate and plan, in lines of at most `width` where that can be: where the verdicts have no room
// beside the figures they stand below them.
[[nodiscard]] std::string capacity_table(const CapacityView& view, std::size_t width);

}  // namespace reports
