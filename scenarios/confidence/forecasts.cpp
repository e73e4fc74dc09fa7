#include "scenarios/confidence/forecasts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/json.hpp"
#include "base/processes/worker_pool.hpp"
#include "profiles/device_profile.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/intervals/workload_json.hpp"
#include "search/problem/result_codec.hpp"
#include "topology/cluster.hpp"

namespace confidence {

// How a worker process hands a forecast back (base/json.hpp).
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Forecast, failure, predicted, low, high, peak, reserved, memory, out_of_memory, at_peak, question, facts)

namespace {

using Json = nlohmann::json;

constexpr std::size_t kPointsPerWorker = 16;  // what a worker has read (device profiles) serves its next points too

std::string first_problem(const base::InputError& e) {
  const base::Diagnostic& d = e.diagnostics().front();
  return d.path.empty() ? d.message : d.path + ": " + d.message;
}

Forecast failed(std::string why) { return {.failure = std::move(why)}; }

// Frameworks do not count the memory of the context and the libraries as allocated.
base::Bytes allocated_peak(const scenarios::Scenario& scenario, const sim::SimulationResult& simulation) {
  return simulation.memory.peak - profiles::device_profile(scenario.base().cluster->devices().front().type).reserved;
}

// An allocator that would hold more than there is gives back free blocks.
base::Bytes reserved_peak(const scenarios::Scenario& scenario, const sim::SimulationResult& simulation) {
  const base::Bytes allocated = allocated_peak(scenario, simulation);
  const base::Bytes room = simulation.memory.capacity - (simulation.memory.peak - allocated);
  const base::Bytes held = allocated + simulation.memory.held;
  return std::max(allocated, std::min(room, held * (1 + scenario.base().framework.profile.memory.allocator_share)));
}

Forecast forecast_one(const measured::Point& p) {
  const int degrees = p.tensor * p.pipeline * p.data * p.context;
  if (degrees != p.gpus) return failed(fmt::format("tp x pp x dp x cp is {}, but n_gpus is {}", degrees, p.gpus));
  const scenarios::Scenario scenario = scenarios::load_scenario(measured::scenario_of(p), {});
  const scenarios::Run run = scenarios::run_scenario(scenario, {}).runs.at(0);
  const std::vector<base::Note> notes = scenarios::run_notes(run);
  if (!run.simulation) return failed(fmt::format("{}", fmt::join(notes | std::views::transform(&base::Note::text), "; ")));
  if (run.gpus != p.gpus) return failed(fmt::format("the cluster gives the plan {} GPUs, n_gpus is {}", run.gpus, p.gpus));
  return {.predicted = run.simulation->iteration_time,
          .low = run.interval_low,
          .high = run.interval_high,
          .peak = allocated_peak(scenario, *run.simulation),
          .reserved = reserved_peak(scenario, *run.simulation),
          .memory = run.simulation->memory,
          .out_of_memory = run.status == scenarios::Status::out_of_memory,
          .at_peak = run.mfu_causal * run.simulation->iteration_time,
          .question = scenarios::workload_of(*run.made, *scenario.base().cluster, *run.simulation),
          .facts = run.facts};
}

// A point that throws must not end a table of hundreds: even a bug of ours becomes the reason of this point.
Forecast forecast_or_reason(const measured::Point& p) {
  try {
    return forecast_one(p);
  } catch (const base::InputError& e) { return failed(first_problem(e)); } catch (const std::exception& e) {
    return failed(fmt::format("internal error: {}", e.what()));
  }
}

// Points first, first + step, ...: neighbours in a table are alike, so every worker gets a share of the slow ones.
Json forecast_every(const std::vector<measured::Point>& points, std::size_t first, std::size_t step) {
  Json all = Json::array();
  for (std::size_t i = first; i < points.size(); i += step) all.push_back(forecast_or_reason(points[i]));
  return all;
}

}  // namespace

std::vector<Forecast> forecast(const std::vector<measured::Point>& points, const ForecastOptions& options) {
  std::vector<Forecast> result(points.size());
  const std::size_t step = (points.size() + kPointsPerWorker - 1) / kPointsPerWorker;
  std::size_t done = 0;
  const std::vector<Json> answers = base::run_workers(
      step, options.jobs, [&](std::size_t first) { return forecast_every(points, first, step); },
      [&](std::size_t) {
        done = std::min(points.size(), done + kPointsPerWorker);
        if (options.progress) options.progress(done);
      });
  for (std::size_t first = 0; first < answers.size(); ++first) {
    std::size_t i = first;
    for (const Json& j : answers[first]) {
      j.get_to(result[i]);
      i += step;
    }
  }
  return result;
}

}  // namespace confidence
