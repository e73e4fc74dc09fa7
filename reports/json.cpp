#include "reports/answer.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reports/capacity/capacity.hpp"
#include "reports/comparison.hpp"
#include "reports/figures.hpp"
#include "reports/json_numbers.hpp"
#include "reports/layout/speedups.hpp"
#include "reports/question/question.hpp"
#include "sim/engine/simgrid_engine.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order of docs/formats/results.md, which is also the order in which people read them

Json by_name(const std::map<std::string, base::Bytes>& m) {
  Json j = Json::object();
  for (const auto& [name, bytes] : m) j[name] = count(bytes);
  return j;
}

void add_details(Json& j, const sim::SimulationResult& s) {
  const sim::MemoryUse& m = s.memory;
  for (std::size_t stage = 0; stage < s.stages.size(); ++stage) {
    const sim::Breakdown& b = s.stages[stage];
    j["stages"].push_back({{"stage", stage},
                           {"compute_s", b.compute.value()},
                           {"exposed_communication_s", b.exposed_communication.value()},
                           {"bubble_s", b.bubble.value()},
                           {"imbalance_s", b.imbalance.value()},
                           {"idle_s", b.idle.value()}});
  }
  add_exposed(j, s.breakdown);
  j["communication_bytes"]["by_collective"] = by_name(s.bytes.by_collective);
  j["communication_bytes"]["by_link"] = by_name(s.bytes.by_link);
  if (s.busiest_link) j["busiest_link"] = {{"type", s.busiest_link->type}, {"name", s.busiest_link->name}, {"busy", s.busiest_link->busy}};
  add_why(j, s);
  for (const profiles::Basis basis : profiles::kBases)
    j["compute_basis_s"][std::string(to_text(basis))] = s.compute_by_basis[basis].value();
  for (const auto& [part, bytes] :
       {std::pair("weights", m.weights), std::pair("gradients", m.gradients), std::pair("optimizer", m.optimizer),
        std::pair("activations", m.activations), std::pair("workspace", m.workspace)})
    j["memory_bytes"][part] = count(bytes);
}

void add_search(Json& j, const scenarios::Planning& p) {
  if (!p.found_by.empty()) j["found_by"] = p.found_by;
  if (p.objective) j["objective_s"] = p.objective->value();
  if (p.bound) j["bound_s"] = p.bound->value();
  j["stop_reason"] = search::stop_reason(p.termination);
}

Json sensitivity_json(const scenarios::Sensitivity& s) {
  Json improved = {{"change", fmt::format("{:g}x", s.change)},
                   {"replanned", s.replanned},
                   {"iteration_time_s", s.improved ? Json(s.improved->value()) : Json(nullptr)},
                   {"speedup", s.improved ? Json(s.time / *s.improved) : Json(nullptr)},
                   {"speedup_interval", s.speedup ? Json({s.speedup->low, s.speedup->high}) : Json(nullptr)}};
  return {{"plan", s.plan}, {"parameter", s.parameter}, {"elasticity", s.elasticity}, {"improved", std::move(improved)}};
}

Json run_json(const scenarios::ScenarioResult& result, const scenarios::Run& r, Explained explained) {
  Json j;
  j["plan"] = r.plan;
  j["variant"] = r.variant;
  if (!r.sweep.empty()) j["sweep"] = r.sweep;
  for (const auto& [key, value] : r.settings) j["settings"][key] = value;
  j["framework"] = r.framework;
  j["replanned"] = r.replanned;
  j["status"] = scenarios::to_text(r.status);
  if (r.simulation && r.simulation->memory.is_tight()) j["tight"] = true;
  add_figures(j, r);  // a plan that cannot be made has none: null, never a number that could be taken for one
  j["iteration_time_interval_s"] = r.simulation ? Json({r.interval_low.value(), r.interval_high.value()}) : Json(nullptr);
  if (r.against_base) add_speedup(j, "speedup", *r.against_base);
  if (r.against_best) add_speedup(j, "best_speedup", *r.against_best);
  j["gpus"] = r.gpus;
  j["search_time_s"] = r.search_time.value();
  j["simulation_time_s"] = r.simulation_time.value();
  if (r.simulation) add_details(j, *r.simulation);
  add_behind(j, result, r);
  j["plan_summary"] = r.plan_summary;
  if (r.planning && r.planning->searched) add_search(j, *r.planning);
  if (r.planning) add_runners_up(j, *r.planning);
  add_rewrites(j, r.made.rewrites());
  if (r.made && r.replanned && explained == Explained::yes) add_plan_explanation(j, *r.made.value(), {});
  j["notes"] = notes_json(scenarios::run_notes(r, 0));
  return j;
}

}  // namespace

std::string json(const scenarios::ScenarioResult& result, Explained explained) {
  Json j = {{"foreshard", 2},
            {"scenario", result.scenario},
            {"question", yaml_json(result.question)},
            {"program", {{"version", result.program.version}, {"commit", result.program.commit}}},
            {"seed", result.seed},
            {"engine", sim::engine_settings()},
            {"runs", Json::array()}};
  for (const scenarios::Run& r : result.runs) j["runs"].push_back(run_json(result, r, explained));
  if (const auto& f = result.favourite) j["favourite"] = {{"plans", f->plans}, {"of", f->of}, {"probability", f->probability}};
  for (const scenarios::Sensitivity& s : result.sensitivity) j["sensitivity"].push_back(sensitivity_json(s));
  if (result.unanswered > 0) j["unanswered"] = result.unanswered;
  add_capacity(j, result);
  return j.dump(1) + "\n";
}

}  // namespace reports
