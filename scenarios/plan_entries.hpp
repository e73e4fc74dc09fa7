#pragma once
// The `plans:` list of a scenario: which plans are asked for. Each entry is a word ("data-parallel"), a map of one planner and its
// options ({megatron: {tensor: 2}, name: ours}), or a saved plan ({file: my.plan.yaml}).

#include <filesystem>
#include <vector>

#include "scenarios/scenario.hpp"

namespace scenarios {

// Entries in order, with unique names; saved plans are read once to find what is wrong with them. Problems go to `sink`.
[[nodiscard]] std::vector<PlanEntry> read_plan_entries(const base::Yaml& list, const std::string& path,
                                                       const std::filesystem::path& directory, base::Diagnostics& sink);

}  // namespace scenarios
