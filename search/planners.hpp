#pragma once
// All planners of this version.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/problem/planner.hpp"

namespace search {

// In the order in which they are shown; planners of one kind stand together, the plain form first.
[[nodiscard]] std::span<const Planner> planners();
// nullptr: there is none of this kind and form.
[[nodiscard]] const Planner* find_planner(std::string_view kind, std::string_view form = "");
// Every kind once, in order.
[[nodiscard]] std::vector<std::string> planner_kinds();

}  // namespace search
