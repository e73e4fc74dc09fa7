#pragma once
// Why an iteration takes as long as it does: its critical path, and how busy its links are. Private to reports.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/results/simulation_result.hpp"

namespace reports {

// The longest parts of the critical path and the use of each type of link, as tables with their headings; empty where nothing is known.
// `width`: of the screen.
[[nodiscard]] std::string why_text(const sim::SimulationResult& s, std::size_t width);

// Adds `critical_path` and `links`, where there are any.
void add_why(nlohmann::ordered_json& j, const sim::SimulationResult& s);

}  // namespace reports
