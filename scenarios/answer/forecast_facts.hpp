#pragma once
// What comparisons go by of an answer: digests of its training, plan and machine. Private to this folder, but for tests.

#include "scenarios/intervals/pairs.hpp"
#include "scenarios/intervals/workload.hpp"
#include "scenarios/question/variant.hpp"
#include "sim/results/simulation_result.hpp"

namespace scenarios {

// Returns what comparisons go by, but for the spread of the forecast's own interval. The plan's digest leaves out what the scale, the
// precision and the placement on devices decide. Cost: O(operators + keys of the cluster).
[[nodiscard]] ForecastFacts facts_of(const Variant& variant, const pcg::Plan& plan, const sim::SimulationResult& s, const Workload& w);

}  // namespace scenarios
