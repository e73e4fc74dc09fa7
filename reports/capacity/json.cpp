#include "reports/capacity/capacity.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/question/question.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;
using scenarios::CapacityEntry;
using scenarios::CapacityResult;
using scenarios::Outcome;
using scenarios::Run;

template <class T, class Convert>
Json or_null(const std::optional<T>& value, Convert&& convert) {
  return value ? Json(convert(*value)) : Json(nullptr);
}

// Which entry it is: enough to find it.
Json entry_name(const CapacityResult& capacity, const std::vector<Run>& runs, std::size_t entry) {
  const CapacityEntry& e = capacity.entries[entry];
  return {{"candidate", capacity.terms.candidates[e.asked.candidate].name},
          {"nodes", e.asked.fleet.nodes},
          {"gpus", e.asked.fleet.gpus},
          {"plan", runs[e.asked.run].plan}};
}

void add_iteration(Json& j, const Run& run) {
  const bool timed = run.simulation.has_value();
  j["iteration_time_s"] = timed ? Json(run.simulation->iteration_time.value()) : Json(nullptr);
  j["tokens_per_s"] = timed ? Json(run.tokens_per_s) : Json(nullptr);
  j["mfu"] = timed ? Json(run.mfu) : Json(nullptr);
  j["mfu_causal"] = timed ? Json(run.mfu_causal) : Json(nullptr);
}

void add_costs(Json& j, const Outcome* o) {
  const bool priced = o != nullptr && o->costs;
  j["cost_usd"] = priced ? Json(o->costs->total().value()) : Json(nullptr);
  j["cost_interval_usd"] = priced ? Json({o->cost_low().value(), o->cost_high().value()}) : Json(nullptr);
  if (priced)
    j["cost_parts_usd"] = {{"rent", o->costs->rent.value()},
                           {"capex", o->costs->capex.value()},
                           {"operations", o->costs->operations.value()},
                           {"electricity", o->costs->electricity.value()}};
}

// The middle's verdict, and how sure it is.
void add_limit(Json& j, const char* meets, const char* chance, const std::optional<scenarios::Chance>& c) {
  j[meets] = or_null(c, [](scenarios::Chance x) { return scenarios::meets(x); });
  j[chance] = or_null(c, [](scenarios::Chance x) { return scenarios::to_text(x); });
}

void add_losses(Json& j, const scenarios::Losses& l) {
  j["failures"] = {{"mtbf_s", l.mtbf.value()},
                   {"expected", l.failures},
                   {"checkpoint_bytes", std::llround(l.checkpoint_size.value())},
                   {"checkpoint_s", l.checkpoint.value()},
                   {"checkpoint_interval_s", l.interval.value()}};
}

Json entry_json(const CapacityResult& capacity, const std::vector<Run>& runs, std::size_t entry) {
  const CapacityEntry& e = capacity.entries[entry];
  const Run& run = runs[e.asked.run];
  const Outcome* o = e.outcome ? &*e.outcome : nullptr;
  Json j = entry_name(capacity, runs, entry);
  j["owned_nodes"] = e.asked.fleet.owned_nodes;
  j["status"] = scenarios::to_text(run.status);
  add_iteration(j, run);
  j["goodput"] = o != nullptr ? Json(o->goodput) : Json(nullptr);
  j["time_to_train_s"] = o != nullptr ? Json(o->time.value()) : Json(nullptr);
  j["time_to_train_interval_s"] = o != nullptr ? Json({o->time_low.value(), o->time_high.value()}) : Json(nullptr);
  j["speedup"] = or_null(e.speedup, [](const scenarios::Speedup& s) { return s.ratio; });
  j["speedup_interval"] = or_null(e.speedup, [](const scenarios::Speedup& s) { return Json({s.low, s.high}); });
  j["gpu_hours"] = o != nullptr ? Json(o->time / scenarios::kHour * e.asked.fleet.gpus) : Json(nullptr);
  add_costs(j, o);
  j["energy_j"] = o != nullptr ? or_null(o->energy, [](base::Joules x) { return x.value(); }) : Json(nullptr);
  j["on_frontier"] = o != nullptr ? or_null(o->on_frontier, [](bool x) { return x; }) : Json(nullptr);
  add_limit(j, "meets_deadline", "deadline_chance", o != nullptr ? o->deadline : std::nullopt);
  add_limit(j, "meets_budget", "budget_chance", o != nullptr ? o->budget : std::nullopt);
  if (o != nullptr && o->losses) add_losses(j, *o->losses);
  j["plan_summary"] = run.plan_summary;
  j["notes"] = notes_json(scenarios::run_notes(run, 0));
  return j;
}

Json summary_json(const CapacityResult& capacity, const std::vector<Run>& runs) {
  const scenarios::Choices& c = capacity.choices;
  const auto named = [&](std::size_t entry) { return entry_name(capacity, runs, entry); };
  Json j = {{"smallest", or_null(c.smallest, named)},
            {"smallest_surely", or_null(c.smallest_surely, named)},
            {"cheapest", or_null(c.cheapest, named)},
            {"quickest", or_null(c.quickest, named)},
            {"break_even", Json::array()}};
  for (const scenarios::BreakEven& b : c.break_evens) {
    Json pair = named(b.entry);
    pair["against"] = named(b.against_entry);
    pair["price_usd_per_gpu_hour"] = b.price.value();
    j["break_even"].push_back(std::move(pair));
  }
  j["notes"] = notes_json(capacity.notes);
  return j;
}

}  // namespace

void add_capacity(Json& result, const scenarios::ScenarioResult& answer) {
  if (!answer.capacity) return;
  Json entries = Json::array();
  for (std::size_t i = 0; i < answer.capacity->entries.size(); ++i)
    entries.push_back(entry_json(*answer.capacity, answer.capacity_runs, i));
  result["capacity"] = std::move(entries);
  result["capacity_summary"] = summary_json(*answer.capacity, answer.capacity_runs);
}

}  // namespace reports
