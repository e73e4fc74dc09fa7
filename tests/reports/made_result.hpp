#pragma once
// An answer made up of round numbers, so that every figure of a report can be read off.

#include <span>

#include "scenarios/answer/result.hpp"

namespace test {

inline scenarios::Run made_run(const std::string& plan, const std::string& variant, bool replanned, double seconds) {
  scenarios::Run r;
  r.plan = plan;
  r.variant = variant;
  r.framework = "generic";
  r.replanned = replanned;
  r.gpus = 8;
  r.plan_summary = "data 8";
  r.samples_per_s = 64 / seconds;
  r.tokens_per_s = 512 * r.samples_per_s;
  r.mfu = 0.25;
  r.mfu_causal = 0.125;
  r.interval_low = base::Seconds(0.75 * seconds);
  r.interval_high = base::Seconds(1.25 * seconds);
  r.search_time = base::Seconds(0.5);
  r.simulation_time = base::Seconds(0.25);
  r.notes = {{base::NoteKind::caution, "code", "not calibrated"}};
  r.made = std::make_shared<const pcg::Plan>();
  sim::SimulationResult s;
  s.iteration_time = base::Seconds(seconds);
  s.breakdown = {base::Seconds(0.5 * seconds), base::Seconds(0.25 * seconds), base::Seconds(0.125 * seconds), base::Seconds(0),
                 base::Seconds(0.125 * seconds)};
  s.bytes.total = base::Bytes(3e9);
  s.bytes.by_collective = {{"all_gather", base::Bytes(1e9)}, {"all_reduce", base::Bytes(2e9)}};
  s.bytes.by_link = {{"nvlink", base::Bytes(3e9)}};
  s.busiest_link = {"nvlink", "node0:gpu0->gpu1", 0.5};
  s.compute_by_basis[profiles::Basis::defaults] = base::Seconds(0.25);
  constexpr double gib = 1024.0 * 1024 * 1024;
  s.memory = {base::Bytes(8 * gib), base::Bytes(16 * gib), base::Bytes(1 * gib), base::Bytes(1 * gib),
              base::Bytes(2 * gib), base::Bytes(3 * gib),  base::Bytes(1 * gib), base::DeviceId(0)};
  s.devices = s.simulated_devices = 8;
  r.simulation = s;
  return r;
}

// The base with two plans, of which one cannot be made, and a what-if that changes nothing of the plan.
inline scenarios::ScenarioResult made_result() {
  scenarios::ScenarioResult result;
  result.scenario = "made up";
  result.runs.push_back(made_run("data-parallel", "base", true, 0.5));
  scenarios::Run impossible;
  impossible.plan = "megatron";
  impossible.variant = "base";
  impossible.framework = "generic";
  impossible.status = scenarios::Status::infeasible;
  impossible.gpus = 8;
  impossible.planning.emplace().termination = search::Termination::infeasible(
      search::Refusal{search::Constraint::devices, "8 devices do not divide by tensor 3 x pipeline 1 x context 1"});
  result.runs.push_back(impossible);
  result.runs.push_back(made_run("data-parallel", "faster, by far", false, 0.25));
  result.runs.push_back(made_run("data-parallel", "faster, by far", true, 0.25));
  for (scenarios::Run& r : std::span(result.runs).last(2)) r.against_base = scenarios::Speedup{.ratio = 2, .low = 1.6, .high = 2.5};
  return result;
}

}  // namespace test
