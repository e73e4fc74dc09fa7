#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "reports/answer.hpp"
#include "reports/figures.hpp"
#include "reports/question/question.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::ScenarioResult;

// Quoted where the text would break the row (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string number(double value) { return fmt::format("{}", value); }

// The columns, in order, and rows that fill some of them.
class Rows {
 public:
  void column(const std::string& name) {
    if (places_.emplace(name, names_.size()).second) names_.push_back(name);
  }
  void begin() { rows_.emplace_back(names_.size()); }
  // Requires: a row was begun, and the column is there.
  void put(const std::string& name, std::string value) { rows_.back()[places_.at(name)] = std::move(value); }

  [[nodiscard]] std::string text() const {
    std::string out = line(names_);
    for (const std::vector<std::string>& row : rows_) out += line(row);
    return out;
  }

 private:
  static std::string line(const std::vector<std::string>& cells) {
    std::string out;
    for (const std::string& c : cells) out += (&c == cells.data() ? "" : ",") + field(c);
    return out + "\n";
  }

  std::vector<std::string> names_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::string>> rows_;
};

void begin_row(Rows& rows, const ScenarioResult& result, const char* kind) {
  rows.begin();
  rows.put("kind", kind);
  rows.put("scenario", result.scenario);
  for (auto& [name, value] : subject_columns(result.subject)) rows.put(name, std::move(value));
}

// Candidates may be trained otherwise than the scenario has it.
void put_training(Rows& rows, const Run& r) {
  if (!r.made) return;
  const auto plan = r.made.value();
  const pcg::TrainingConfig& t = plan->training;
  rows.put("global_batch", fmt::format("{}", t.global_batch));
  rows.put("precision", std::string(pcg::to_text(t.precision)));
  rows.put("optimizer", pcg::name_of(t.optimizer));
}

void put_run(Rows& rows, const Run& r) {
  for (const auto& [name, value] :
       {std::pair("variant", r.variant), std::pair("plan", r.plan), std::pair("framework", r.framework),
        std::pair("replanned", fmt::format("{}", r.replanned)), std::pair("status", std::string(scenarios::to_text(r.status))),
        std::pair("plan_summary", r.plan_summary), std::pair("gpus", fmt::format("{}", r.gpus)),
        std::pair("search_time_s", number(r.search_time.value())), std::pair("simulation_time_s", number(r.simulation_time.value()))})
    rows.put(name, value);
  for (const auto& [key, value] : r.settings) rows.put("set." + key, value);
  if (!r.simulation) return;  // empty cells: a 0 could be taken for a time
  for (const Figure& f : figures())
    if (const auto value = f.of(r); !value.is_null()) rows.put(f.key, value.dump());
}

void put_speedup(Rows& rows, const std::optional<scenarios::Speedup>& s) {
  if (!s) return;
  rows.put("speedup", number(s->ratio));
  rows.put("speedup_low", number(s->low));
  rows.put("speedup_high", number(s->high));
}

void put_machines(Rows& rows, const ScenarioResult& result) {
  if (!result.capacity) return;
  for (const scenarios::CapacityEntry& e : result.capacity->entries) {
    begin_row(rows, result, "capacity");
    const Run& run = result.capacity_runs[e.asked.run];
    put_run(rows, run);
    put_training(rows, run);
    const std::string& name = result.capacity->terms.candidates[e.asked.candidate].name;
    rows.put("variant", fmt::format("{} x {}", name, e.asked.fleet.nodes));  // one run may be of several candidates
    rows.put("candidate", name);
    rows.put("candidate_nodes", fmt::format("{}", e.asked.fleet.nodes));
    put_speedup(rows, e.speedup);
    if (!e.outcome) continue;
    rows.put("time_to_train_s", number(e.outcome->time.value()));
    rows.put("time_to_train_low_s", number(e.outcome->time_low.value()));
    rows.put("time_to_train_high_s", number(e.outcome->time_high.value()));
    if (e.outcome->costs) rows.put("cost_usd", number(e.outcome->costs->total().value()));
    if (e.outcome->energy) rows.put("energy_j", number(e.outcome->energy->value()));
  }
}

void put_sensitivities(Rows& rows, const ScenarioResult& result) {
  for (const scenarios::Sensitivity& s : result.sensitivity) {
    begin_row(rows, result, "sensitivity");
    rows.put("plan", s.plan);
    rows.put("parameter", s.parameter);
    rows.put("elasticity", number(s.elasticity));
    rows.put("change", fmt::format("{:g}x", s.change));
    put_speedup(rows, s.speedup);
    if (s.improved) rows.put("improved_iteration_time_s", number(s.improved->value()));
  }
}

}  // namespace

std::string csv(std::span<const ScenarioResult> results) {
  Rows rows;
  for (const char* name : {"kind", "scenario"}) rows.column(name);
  for (const auto& [name, value] : subject_columns({})) rows.column(name);
  rows.column("variant");
  for (const ScenarioResult& result : results)
    for (const Run& r : result.runs)
      for (const auto& [key, value] : r.settings) rows.column("set." + key);
  for (const char* name : {"plan", "framework", "replanned", "status", "plan_summary", "gpus"}) rows.column(name);
  for (const Figure& f : figures()) rows.column(f.key);
  for (const char* name : {"search_time_s", "simulation_time_s"}) rows.column(name);
  if (std::ranges::any_of(results, [](const ScenarioResult& r) { return r.capacity.has_value(); }))
    for (const char* name :
         {"candidate", "candidate_nodes", "time_to_train_s", "time_to_train_low_s", "time_to_train_high_s", "cost_usd", "energy_j"})
      rows.column(name);
  if (std::ranges::any_of(results, [](const ScenarioResult& r) { return !r.sensitivity.empty(); }))
    for (const char* name : {"parameter", "elasticity", "change", "improved_iteration_time_s"}) rows.column(name);
  for (const ScenarioResult& result : results) {
    for (const Run& r : result.runs) {
      begin_row(rows, result, "run");
      put_run(rows, r);
    }
    put_machines(rows, result);
    put_sensitivities(rows, result);
  }
  return rows.text();
}

}  // namespace reports
