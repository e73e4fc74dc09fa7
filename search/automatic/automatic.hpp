#pragma once
// Every planner asked in turn, within one budget: what is typed by whoever only wants the answer.

#include <vector>

#include "search/problem/planner.hpp"

namespace search {

// Asks `others`, in their order; those that need options are left out. Each search may take an equal share of the time that is left.
[[nodiscard]] Planner auto_planner(std::vector<Planner> others);

}  // namespace search
