#pragma once
// Every operator cut in its own way over all devices, without a pipeline: the choice of Alpa's baseline "intra-op only" (OSDI'22, section
// 8.1), for which operators are chosen together, exactly.

#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/planner.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {

struct IntraOpConfig {
  SearchLimits budget = kDefaultEffort;
  std::size_t most_strategies = 24;  // of an operator, those that cost least by themselves
  int most_cut = 2;                  // loops of an operator that are cut at once
};

// The best plan by simulation of those that are the cheapest within the memory under several objectives of gradients, and of plain data
// parallelism. The same as a part of another search: confirms what it finds. The budget is that search's, and says whether it was enough.
// Returns: its notes.
std::vector<base::Fact> confirm_intra_op(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, Budget& budget,
                                         Confirmation& confirmation);
[[nodiscard]] SearchResult intra_op_search(const Problem& problem, const IntraOpConfig& config, const SearchContext& context);
[[nodiscard]] Planner intra_op_planner();

}  // namespace search
