#include "scenarios/answer/result.hpp"

#include "search/problem/result_codec.hpp"

namespace scenarios {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Planning, searched, termination, objective, bound, counted, lost, notes)
// All but the plan.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, plan, variant, sweep, settings, framework, has_own_framework, replanned, status, base_gpus,
                                   planning, simulation, interval_low, interval_high, samples_per_s, tokens_per_s, mfu, mfu_causal, gpus,
                                   search_time, simulation_time, plan_summary, notes)

namespace {

constexpr const char* kMade = "made";
constexpr const char* kKnown = "known";
constexpr const char *kText = "text", *kRewrites = "rewrites";

}  // namespace

nlohmann::json encode(const std::vector<Run>& runs, const std::shared_ptr<const pcg::Plan>& known) {
  nlohmann::json all = nlohmann::json::array();
  for (const Run& r : runs) {
    nlohmann::json j = r;
    if (known && r.made == StoredPlan(known)) j[kKnown] = true;
    else if (r.made) j[kMade] = {{kText, r.made.text()}, {kRewrites, r.made.rewrites()}};
    all.push_back(std::move(j));
  }
  return all;
}

std::vector<Run> decode(const nlohmann::json& encoded, const std::shared_ptr<const pcg::Plan>& known) {
  std::vector<Run> runs;
  for (const nlohmann::json& j : encoded) {
    Run& r = runs.emplace_back(j.get<Run>());
    if (j.contains(kKnown)) r.made = known;
    else if (j.contains(kMade)) r.made = {j[kMade].at(kText).get<std::string>(), j[kMade].at(kRewrites).get<std::vector<pcg::Rewrite>>()};
  }
  return runs;
}

}  // namespace scenarios
