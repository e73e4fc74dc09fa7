#pragma once
// Every operator cut in its own way over all devices, without a pipeline, chosen together, exactly: Alpa's baseline "intra-op only"
// (OSDI'22, section 8.1).

#include <vector>

#include "base/fact.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {

// Confirms the cheapest choices for the whole batch under several objectives of gradients, and, where these do not fit, the cheapest within
// the memory; of each operator among the `most_strategies` that cost least by themselves. Each objective is a candidate of the budget.
// Returns: notes.
std::vector<base::Fact> confirm_one_stage(const Problem& problem, std::size_t most_strategies, OperatorCatalog& catalog, Budget& budget,
                                          Confirmation& confirmation);

}  // namespace search
