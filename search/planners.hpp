#pragma once
// All planners of this version. Start here: planners() lists them, each a folder under search/planners. Read a short one first:
//   data_parallel, expert_dlrm, fsdp   a plan by rule, or the best of a few dozen
//   megatron                           a grid of degrees: rank by bounds (ranking.hpp), then estimate, simulate, refine
//   alpa (and intra-op)                strategies of operators chosen together (search/solve/operators), and stages (search/solve/stages)
//   uniap                              strategies of layers and stages (search/solve/layers); galvatron, a subset of it, too
//   flexflow                           random walks over placements
//   unity                              rewrites (variants.hpp), mapping (search/solve/mapping), pipelines, walks; walks over graphs that
//   are
//                                      rewritten first (taso_flexflow.cpp), too
//   automatic                          all of them within one budget

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/problem/planner.hpp"

namespace search {

// In the order in which they are shown; planners of one kind follow each other, the plain form first.
[[nodiscard]] std::span<const Planner> planners();
// nullptr: there is none of this kind and form.
[[nodiscard]] const Planner* find_planner(std::string_view kind, std::string_view form = "");
// Every kind once, in order.
[[nodiscard]] std::vector<std::string> planner_kinds();

}  // namespace search
