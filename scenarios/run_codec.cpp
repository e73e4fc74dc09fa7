#include "scenarios/run_codec.hpp"

#include <nlohmann/json.hpp>

#include "base/yaml/parse.hpp"
#include "pcg/plan/plan_read.hpp"
#include "pcg/plan/plan_write.hpp"

namespace scenarios {
namespace {

using Json = nlohmann::json;

// Doubles are written in their shortest form that reads back the same.
template <class Tag>
Json number(base::Quantity<Tag> q) {
  return q.value();
}
template <class Q>
Q quantity(const Json& j) {
  return Q(j.get<double>());
}

Json bytes_by_name(const std::map<std::string, base::Bytes>& m) {
  Json j = Json::object();
  for (const auto& [name, bytes] : m) j[name] = number(bytes);
  return j;
}
std::map<std::string, base::Bytes> bytes_by_name(const Json& j) {
  std::map<std::string, base::Bytes> m;
  for (const auto& [name, bytes] : j.items()) m[name] = quantity<base::Bytes>(bytes);
  return m;
}

Json memory_json(const sim::MemoryUse& m) {
  return {number(m.peak),      number(m.capacity),    number(m.weights),   number(m.gradients),
          number(m.optimizer), number(m.activations), number(m.workspace), m.device.value};
}
sim::MemoryUse memory_from(const Json& j) {
  const auto b = [&](std::size_t i) { return quantity<base::Bytes>(j.at(i)); };
  return {b(0), b(1), b(2), b(3), b(4), b(5), b(6), base::DeviceId(j.at(7).get<std::size_t>())};
}

Json simulation_json(const sim::SimulationResult& s) {
  Json j;
  j["time"] = number(s.iteration_time);
  j["breakdown"] = {number(s.breakdown.compute), number(s.breakdown.exposed_communication), number(s.breakdown.bubble),
                    number(s.breakdown.idle)};
  j["bytes"] = {number(s.bytes.total), bytes_by_name(s.bytes.by_collective), bytes_by_name(s.bytes.by_link)};
  if (s.busiest_link) j["busiest"] = {s.busiest_link->type, s.busiest_link->name, s.busiest_link->busy};
  j["memory"] = memory_json(s.memory);
  j["devices"] = {s.devices, s.simulated_devices};
  j["activities"] = s.activities;
  for (const base::Seconds& on : s.compute_by_basis) j["basis"].push_back(number(on));
  j["notes"] = s.notes;
  j["spans"] = Json::array();
  for (const sim::Span& p : s.spans)
    j["spans"].push_back({p.device, p.stream, p.name, number(p.start), number(p.duration), number(p.bytes)});
  j["samples"] = Json::array();
  for (const sim::MemorySample& m : s.memory_over_time) j["samples"].push_back({m.device, number(m.time), number(m.used)});
  return j;
}

sim::SimulationResult simulation_from(const Json& j) {
  sim::SimulationResult s;
  const auto seconds = [](const Json& x) { return quantity<base::Seconds>(x); };
  s.iteration_time = seconds(j.at("time"));
  const Json& b = j.at("breakdown");
  s.breakdown = {seconds(b.at(0)), seconds(b.at(1)), seconds(b.at(2)), seconds(b.at(3))};
  const Json& c = j.at("bytes");
  s.bytes = {quantity<base::Bytes>(c.at(0)), bytes_by_name(c.at(1)), bytes_by_name(c.at(2))};
  if (const auto it = j.find("busiest"); it != j.end()) s.busiest_link = {it->at(0), it->at(1), it->at(2)};
  s.memory = memory_from(j.at("memory"));
  s.devices = j.at("devices").at(0).get<int>();
  s.simulated_devices = j.at("devices").at(1).get<int>();
  s.activities = j.at("activities").get<std::uint64_t>();
  for (std::size_t i = 0; base::Seconds & on : s.compute_by_basis) on = seconds(j.at("basis").at(i++));
  s.notes = j.at("notes").get<std::vector<std::string>>();
  for (const Json& p : j.at("spans"))
    s.spans.push_back({p.at(0).get<std::uint32_t>(), p.at(1).get<std::string>(), p.at(2).get<std::string>(), seconds(p.at(3)),
                       seconds(p.at(4)), quantity<base::Bytes>(p.at(5))});
  for (const Json& m : j.at("samples"))
    s.memory_over_time.push_back({m.at(0).get<std::uint32_t>(), seconds(m.at(1)), quantity<base::Bytes>(m.at(2))});
  return s;
}

Json binding_json(const search::BindingConstraint& b) {
  if (const auto* r = std::get_if<search::Refusal>(&b)) return {static_cast<int>(r->constraint), r->why};
  const auto& miss = std::get<search::ClosestMiss>(b);
  return {miss.candidate, number(miss.memory.needed), number(miss.memory.available)};
}
search::BindingConstraint binding_from(const Json& j) {
  if (j.size() == 2) return search::Refusal{static_cast<search::Constraint>(j.at(0).get<int>()), j.at(1).get<std::string>()};
  return search::ClosestMiss{j.at(0).get<std::string>(), {quantity<base::Bytes>(j.at(1)), quantity<base::Bytes>(j.at(2))}};
}

Json termination_json(const search::Termination& t) {
  if (const auto* binding = t.binding()) return {{"binding", binding_json(*binding)}};
  Json j{{"plan", t.has_plan()}};
  if (t.limit()) j["limit"] = static_cast<int>(*t.limit());
  return j;
}
search::Termination termination_from(const Json& j) {
  using search::Termination;
  if (j.contains("binding")) return Termination::infeasible(binding_from(j.at("binding")));
  if (!j.contains("limit")) return Termination::optimal();
  const auto limit = static_cast<search::Limit>(j.at("limit").get<int>());
  return j.at("plan").get<bool>() ? Termination::feasible(limit) : Termination::nothing_found(limit);
}

Json lost_json(const search::LostCandidate& l) {
  if (const auto* s = std::get_if<search::Slower>(&l.why)) return {l.candidate, true, number(s->time), number(s->best)};
  const auto& m = std::get<search::NeedsMemory>(l.why);
  return {l.candidate, false, number(m.needed), number(m.available)};
}
search::LostCandidate lost_from(const Json& j) {
  const auto candidate = j.at(0).get<std::string>();
  if (j.at(1).get<bool>()) return {candidate, search::Slower{quantity<base::Seconds>(j.at(2)), quantity<base::Seconds>(j.at(3))}};
  return {candidate, search::NeedsMemory{quantity<base::Bytes>(j.at(2)), quantity<base::Bytes>(j.at(3))}};
}

Json planning_json(const Planning& p) {
  Json j{{"searched", p.searched}, {"termination", termination_json(p.termination)}, {"lost", Json::array()}, {"notes", p.notes}};
  if (p.objective) j["objective"] = number(*p.objective);
  if (p.bound) j["bound"] = number(*p.bound);
  for (const search::LostCandidate& l : p.lost) j["lost"].push_back(lost_json(l));
  return j;
}
Planning planning_from(const Json& j) {
  Planning p{.searched = j.at("searched").get<bool>(),
             .termination = termination_from(j.at("termination")),
             .notes = j.at("notes").get<std::vector<std::string>>()};
  if (j.contains("objective")) p.objective = quantity<base::Seconds>(j.at("objective"));
  if (j.contains("bound")) p.bound = quantity<base::Seconds>(j.at("bound"));
  for (const Json& l : j.at("lost")) p.lost.push_back(lost_from(l));
  return p;
}

Json run_json(const Run& r) {
  Json j;
  j["plan"] = r.plan;
  j["variant"] = r.variant;
  j["replanned"] = r.replanned;
  j["status"] = static_cast<int>(r.status);
  if (r.base_gpus) j["base_gpus"] = *r.base_gpus;
  if (r.planning) j["planning"] = planning_json(*r.planning);
  if (r.made) j["made"] = pcg::write_plan(*r.made);
  if (r.simulation) j["simulation"] = simulation_json(*r.simulation);
  j["interval"] = {number(r.interval_low), number(r.interval_high)};
  j["rates"] = {r.samples_per_s, r.tokens_per_s, r.mfu};
  j["gpus"] = r.gpus;
  j["wall"] = {number(r.search_time), number(r.simulation_time)};
  j["plan_summary"] = r.plan_summary;
  j["notes"] = r.notes;
  return j;
}

Run run_from(const Json& j) {
  Run r;
  r.plan = j.at("plan").get<std::string>();
  r.variant = j.at("variant").get<std::string>();
  r.replanned = j.at("replanned").get<bool>();
  r.status = static_cast<Status>(j.at("status").get<int>());
  if (j.contains("base_gpus")) r.base_gpus = j.at("base_gpus").get<int>();
  if (j.contains("planning")) r.planning = planning_from(j.at("planning"));
  if (j.contains("made")) r.made = pcg::read_plan(base::parse_yaml(j.at("made").get<std::string>(), "<worker>"));
  if (j.contains("simulation")) r.simulation = simulation_from(j.at("simulation"));
  r.interval_low = quantity<base::Seconds>(j.at("interval").at(0));
  r.interval_high = quantity<base::Seconds>(j.at("interval").at(1));
  r.samples_per_s = j.at("rates").at(0).get<double>();
  r.tokens_per_s = j.at("rates").at(1).get<double>();
  r.mfu = j.at("rates").at(2).get<double>();
  r.gpus = j.at("gpus").get<int>();
  r.search_time = quantity<base::Seconds>(j.at("wall").at(0));
  r.simulation_time = quantity<base::Seconds>(j.at("wall").at(1));
  r.plan_summary = j.at("plan_summary").get<std::string>();
  r.notes = j.at("notes").get<std::vector<std::string>>();
  return r;
}

}  // namespace

Json encode(const std::vector<Run>& runs) {
  Json j = Json::array();
  for (const Run& r : runs) j.push_back(run_json(r));
  return j;
}

std::vector<Run> decode(const Json& encoded) {
  std::vector<Run> runs;
  for (const Json& j : encoded) runs.push_back(run_from(j));
  return runs;
}

}  // namespace scenarios
