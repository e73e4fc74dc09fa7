#pragma once
// Every planner asked, within one budget: what is typed by whoever only wants the answer.

#include <vector>

#include "search/problem/planner.hpp"

namespace search {

// Asks `others`, in their order, as many at once as the context has jobs; those that need options are left out. Each search may take an
// equal share of the time that is left. The answer is the same for any number of jobs, unless a search meets its time limit.
[[nodiscard]] Planner auto_planner(std::vector<Planner> others);

}  // namespace search
