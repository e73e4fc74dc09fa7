#pragma once
// The answer of capacity planning as text for people and as JSON (docs/formats/results.md, "Capacity result"). Private to reports.

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns what is asked, one row per number of nodes below each candidate and plan (time, cost and energy each in one unit, with 90 %
// intervals; whether deadline and budget are kept; what is on the frontier), sentences that say which to choose and what other prices would
// change, and what was assumed. Lines are at most `width` characters, but for names that are longer. Empty where the scenario does not ask.
[[nodiscard]] std::string capacity_text(const scenarios::ScenarioResult& answer, std::size_t width);

// Adds `capacity`, one entry per candidate, number of nodes and plan, and `capacity_summary` to a result; nothing where the scenario does
// not ask.
void add_capacity(nlohmann::ordered_json& result, const scenarios::ScenarioResult& answer);

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
// beside the figures they are below them.
[[nodiscard]] std::string capacity_table(const CapacityView& view, std::size_t width);

}  // namespace reports
