#pragma once
// Answers of planners as JSON, exact to the last bit: the form in which worker processes hand them back. Not a format for users: that is
// reports/json. The library's macros write a value as an object of its fields and read it back. They are in the namespace of each type,
// where the library looks for to_json and from_json; base/json.hpp knows the types in between.

#include "base/json.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/plan/plan_text.hpp"
#include "search/problem/search_result.hpp"

namespace pcg {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Rewrite, rule, up_to, before, after)
// Without its name, which is a text of the program that made it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Kernel, kind, flops, bytes, batch, m, n, k, tensor_cores, low_attention, serial_launches,
                                   split_accumulation, added)
// A plan travels as the text of its file, which loses nothing.
inline void to_json(nlohmann::json& j, const Plan& plan) { j = write_plan(plan); }
inline void from_json(const nlohmann::json& j, Plan& plan) { plan = read_plan(base::parse_yaml(j.get<std::string>(), "<worker>")); }

}  // namespace pcg

namespace base {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fact, code, values)

}  // namespace base

namespace sim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Breakdown, compute, exposed_communication, bubble, imbalance, idle, exposed_by_collective,
                                   exposed_by_link)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommunicationBytes, total, by_collective, by_link)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryUse, peak, capacity, weights, gradients, optimizer, activations, workspace, device, held,
                                   in_update, margin)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BusiestLink, type, name, busy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OnPath, kind, name, link)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathPart, what, time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkUse, type, name, count, bytes, carried, bandwidth, busy, busiest, over_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SpanWork, pass, operation, layer, stage, micro_batch, moves, group, buffer, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimedKernel, kernel, precision, time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Span, device, stream, name, start, duration, bytes, message, receives, work)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemorySample, device, time, used)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SimulationResult, iteration_time, stages, breakdown, bytes, busiest_link, critical_path, links, memory,
                                   devices, simulated_devices, simulated_micro_batches, activities, compute_by_basis, notes, spans, kernels,
                                   stands_for, memory_over_time)

}  // namespace sim

namespace search {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Refusal, constraint, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NeedsMemory, needed, available)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClosestMiss, candidate, memory)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Slower, time, best)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LostCandidate, candidate, why)

// A termination has makers instead of fields: what they ask for is what travels.
inline void to_json(nlohmann::json& j, const Termination& t) {
  j = {{"plan", t.has_plan()}, {"limit", t.limit()}};
  if (const BindingConstraint* binding = t.binding()) j["binding"] = *binding;
}
inline void from_json(const nlohmann::json& j, Termination& t) {
  const auto limit = j.at("limit").get<std::optional<Limit>>();
  if (j.contains("binding")) t = Termination::infeasible(j.at("binding").get<BindingConstraint>());
  else if (!limit) t = Termination::optimal();
  else t = j.at("plan").get<bool>() ? Termination::feasible(*limit) : Termination::nothing_found(*limit);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchResult, termination, best, closest, found_by, simulation, objective, bound, candidates, counted,
                                   lost, notes)

}  // namespace search
