#pragma once
// Every operator cut in its own way over all devices, without a pipeline: the choice of Alpa's baseline "intra-op only" (OSDI'22, section
// 8.1), for which operators are chosen together, exactly.

#include "search/operators/operator_catalog.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/deadline.hpp"
#include "search/problem/planner.hpp"

namespace search {

struct IntraOpConfig {
  base::Seconds budget{60};
  std::size_t most_strategies = 24;  // of an operator, those that cost least by themselves
  int most_cut = 2;                  // loops of an operator that are cut at once
};

// The best plan by simulation of those that are the cheapest within the memory under several weighings of gradients, and of plain data
// parallelism.
// The same as a part of another search: confirms what it finds. The deadline is that search's. Returns: a note on it; whether time was
// left is the deadline's to say.
std::string confirm_intra_op(const Problem& problem, const IntraOpConfig& config, OperatorCatalog& catalog, const Deadline& deadline,
                             Confirmation& confirmation);
[[nodiscard]] SearchResult intra_op_search(const Problem& problem, const IntraOpConfig& config, const SearchContext& context);
[[nodiscard]] Planner intra_op_planner();

}  // namespace search
