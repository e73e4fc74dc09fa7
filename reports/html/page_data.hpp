#pragma once
// What the page shows of scenarios: `results`, format 1 of each with explanations, and `details`, what format 1 leaves out: the cluster's
// drawing, what notes are about, and for each base run its timeline, memory over time and graph.
//
// A report stays below 5 MB whatever was asked, so that it can be mailed and opens at once. The page itself takes about 0.8 MB; results and
// each sort of details have a share of the rest (page_data.cpp) that the runs of all scenarios share out evenly. What does not fit is said
// in `left_out`, in words for readers.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "scenarios/answer/result.hpp"
#include "topology/cluster.hpp"

namespace reports {

inline constexpr std::size_t kMostPageBytes = 5'000'000;

struct ReportedScenario {
  const scenarios::ScenarioResult* result;
  const topology::Cluster* cluster;  // of the base; null: nothing is asked about it
};

// Base runs have timelines where they were answered with RunOptions::trace. Cost: O(spans log names).
[[nodiscard]] nlohmann::ordered_json page_data(std::span<const ReportedScenario> scenarios);

}  // namespace reports
