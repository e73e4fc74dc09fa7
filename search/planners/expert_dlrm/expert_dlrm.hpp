#pragma once
// The experts' plan of recommendation models: what communicates much in model parallelism, what computes much in data parallelism (Neo,
// Mudigere et al., ISCA'22, arXiv 2104.05158), the baseline of Unity for DLRM and CANDLE-Uno (OSDI'22, section 6.2). Embedding tables lie
// whole on one device each, and their rows travel to the samples; everything else is cut by samples over all devices.

#include "search/problem/planner.hpp"

namespace search {

struct ExpertDlrmConfig {
  // tables: embedding tables. by_cost: and the operators whose weights' gradients take longer to add up over all devices than their kernels
  // take. where_fit: tables, of a model that has any; else by_cost.
  enum class ModelParallel { where_fit, tables, by_cost };
  ModelParallel model_parallel = ModelParallel::where_fit;
  int features = 0;  // neighbours that share the output features of such an operator that is no table; 0: those of a domain
};

// A table that another operator reads too (a tied head) is no table here: its rows would have to travel to that operator.
// Refuses when samples do not divide among the devices.
// Cost: that of data parallelism, and of the cost of each kind of operator.
[[nodiscard]] Attempt<pcg::Plan> expert_dlrm_plan(const Problem& problem, const ExpertDlrmConfig& config = {});
[[nodiscard]] Planner expert_dlrm_planner();

}  // namespace search
