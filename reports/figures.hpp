#pragma once
// The figures of a run, each described once, for JSON and CSV.

#include <nlohmann/json_fwd.hpp>

#include <span>

#include "scenarios/answer/result.hpp"

namespace reports {

struct Figure {
  const char* key;   // the column of CSV: "exposed_communication_s"; the unit is its end
  const char* json;  // the path in a run of JSON: "breakdown_s.exposed_communication"; empty: written otherwise there
  // Null: this run has none. Requires: a run with a simulation.
  nlohmann::ordered_json (*of)(const scenarios::Run&);
};

// In the order of the columns.
[[nodiscard]] std::span<const Figure> figures();

// Adds every figure that JSON has at its path: null where the run was not simulated and the path is a key of the run itself, else nothing.
void add_figures(nlohmann::ordered_json& run, const scenarios::Run& r);

}  // namespace reports
