#pragma once
// Workloads and sides of comparisons as they travel between processes (base/json.hpp), and are kept.

#include <nlohmann/json.hpp>

#include "scenarios/intervals/pairs.hpp"
#include "scenarios/intervals/workload.hpp"

namespace scenarios {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OwnProfiles, framework, device, network)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkloadKind, framework, device, fabric, precision, replicas, layers, trained, own)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Workload, kind, log2_parameters, shares, gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ForecastFacts, work, plan, gpus, samples, precision, machine, links, shares, spread, unmeasured)

}  // namespace scenarios
