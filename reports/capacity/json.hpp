#pragma once
// The answer of capacity planning as JSON (docs/formats.md, "Capacity of the JSON result").

#include <nlohmann/json_fwd.hpp>

#include "scenarios/answer/result.hpp"

namespace reports {

// Adds `capacity`, one entry per candidate, number of nodes and plan, and `capacity_summary` to a result; nothing where the scenario does
// not ask.
void add_capacity(nlohmann::ordered_json& result, const scenarios::ScenarioResult& answer);

}  // namespace reports
