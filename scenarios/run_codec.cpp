#include "scenarios/run_codec.hpp"

#include "search/problem/result_codec.hpp"

namespace scenarios {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Planning, searched, termination, objective, bound, counted, lost, notes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, plan, variant, framework, has_own_framework, replanned, status, base_gpus, planning, made,
                                   simulation, interval_low, interval_high, samples_per_s, tokens_per_s, mfu, mfu_causal, gpus, search_time,
                                   simulation_time, plan_summary, notes)

nlohmann::json encode(const std::vector<Run>& runs) { return runs; }
std::vector<Run> decode(const nlohmann::json& encoded) { return encoded.get<std::vector<Run>>(); }

}  // namespace scenarios
