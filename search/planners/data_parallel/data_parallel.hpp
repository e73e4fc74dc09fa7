#pragma once
// Data parallelism: one replica per device, gradients all-reduced (Li et al., VLDB 2020, arXiv 2006.15704).

#include "search/problem/planner.hpp"

namespace search {

[[nodiscard]] Attempt<pcg::Plan> data_parallel_plan(const Problem& problem, const pcg::Overlap& overlap = {});
[[nodiscard]] Planner data_parallel_planner();

}  // namespace search
