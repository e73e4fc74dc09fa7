#include "search/problem/search_result.hpp"

namespace search {

SearchResult result_of_rule(Attempt<pcg::Plan> plan) {
  if (!plan) return {.termination = Termination::infeasible(plan.refusal())};
  return {.termination = Termination::optimal(), .best = std::move(plan).value(), .candidates = 1};
}

}  // namespace search
