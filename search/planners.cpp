#include "search/planners.hpp"

#include "search/planners/alpa/alpa.hpp"
#include "search/planners/automatic/automatic.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/expert_dlrm/expert_dlrm.hpp"
#include "search/planners/flexflow/flexflow.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "search/planners/uniap/uniap.hpp"
#include "search/planners/unity/unity.hpp"

namespace search {

std::span<const Planner> planners() {
  static const std::vector<Planner> kPlanners = [] {  // constant data, made once
    std::vector<Planner> all{data_parallel_planner(), megatron_planner(), megatron_search_planner(), fsdp_planner(),     intra_op_planner(),
                             expert_dlrm_planner(),   flexflow_planner(), taso_flexflow_planner(),   unity_planner(),    alpa_planner(),
                             inter_op_planner(),      pp_dp_planner(),    uniap_planner(),           galvatron_planner()};
    all.push_back(auto_planner(all));
    return all;
  }();
  return kPlanners;
}

const Planner* find_planner(std::string_view kind, std::string_view form) {
  for (const Planner& p : planners())
    if (p.kind == kind && p.form == form) return &p;
  return nullptr;
}

std::vector<std::string> planner_kinds() {
  std::vector<std::string> kinds;
  for (const Planner& p : planners())
    if (kinds.empty() || kinds.back() != p.kind) kinds.push_back(p.kind);
  return kinds;
}

}  // namespace search
