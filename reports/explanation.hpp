#pragma once
// Why a plan is what it is: the substitutions that made its graph, what it does otherwise than data parallelism, and which plans it was
// preferred to; and why an iteration takes as long as it does: its critical path, how busy its links are, and what would help.

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <span>
#include <string>

#include "scenarios/answer/result.hpp"
#include "sim/results/simulation_result.hpp"

namespace reports {

enum class Explained { no, yes };

// Returns the text of a plan: its substitutions, where it has any, and what is otherwise than in data parallelism. Files of its model are
// named from `directory`; a model whose files cannot be read any more is not compared, and the answer says so. `width`: of the screen.
[[nodiscard]] std::string plan_explanation_text(const pcg::Plan& plan, const std::filesystem::path& directory, std::size_t width);
// Adds `against_data_parallel`.
void add_plan_explanation(nlohmann::ordered_json& j, const pcg::Plan& plan, const std::filesystem::path& directory);

// Returns the same of every plan of a scenario that was made for its variant, with the runners-up of searches.
[[nodiscard]] std::string explanation_text(const scenarios::ScenarioResult& result, std::size_t width);

// Add `rewrites` and `runners_up`, where there are any.
void add_rewrites(nlohmann::ordered_json& j, const std::vector<pcg::Rewrite>& rewrites);
void add_runners_up(nlohmann::ordered_json& j, const scenarios::Planning& planning);

// The times of each pipeline stage, the longest parts of the critical path and the use of each type of link, as tables with their headings;
// empty where nothing is known. `width`: of the screen.
[[nodiscard]] std::string why_text(const sim::SimulationResult& s, std::size_t width);

// Adds `critical_path` and `links`, where there are any.
void add_why(nlohmann::ordered_json& j, const sim::SimulationResult& s);

// Returns a sentence for each part of the time that is worth one (exposed communication, bubble, waiting for the host), the largest first,
// with the most that could be gained; of communication also what twice the bandwidth of its links would bring, where that was asked. Empty
// where the GPUs hardly wait. Requires: a run with a simulation.
[[nodiscard]] std::string advice_text(const scenarios::Run& run, std::span<const scenarios::Sensitivity> sensitivities);

}  // namespace reports
