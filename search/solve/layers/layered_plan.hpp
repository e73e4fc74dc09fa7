#pragma once
// From a strategy per layer to a plan.

#include <map>
#include <optional>
#include <vector>

#include "search/problem/problem.hpp"
#include "search/solve/layers/chain_costs.hpp"

namespace search {

// Returns the plan of an answer to the chain of that setting, with a summary and without name. Cost: O(nodes x points).
[[nodiscard]] pcg::Plan layered_plan(const Problem& problem, const ChainSetting& setting, int micro_batches, const ChainAnswer& answer);

}  // namespace search
