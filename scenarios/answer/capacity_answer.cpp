#include "scenarios/answer/answer.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/memory/model_states.hpp"

namespace scenarios {
namespace {

std::string machine_name(const CapacityQuestion& question, std::size_t machine) {
  const auto point = std::ranges::find(question.points, machine, &CapacityQuestion::Point::machine);
  return fmt::format("{} x {}", question.terms.candidates[point->candidate].name, point->fleet.nodes);
}

// Weights and optimizer states, once: copies and gradients need not be saved.
base::Bytes states_of(const pcg::Plan& plan, const Variant& variant) {
  const sim::ModelStateBytes per_parameter = sim::model_state_bytes(plan, variant.framework.profile);
  return base::Bytes(static_cast<double>(variant.model->parameters()) * (per_parameter.weight + per_parameter.optimizer));
}

std::optional<TrainingForecast> forecast_of(const Run& run, const Variant& variant) {
  if (run.status != Status::ok || !run.simulation || !(run.simulation->iteration_time > base::Seconds(0))) return std::nullopt;
  return TrainingForecast{.iteration = run.simulation->iteration_time,
                          .low = run.interval_low,
                          .high = run.interval_high,
                          .samples_per_s = run.samples_per_s,
                          .tokens_per_s = run.tokens_per_s,
                          .gpus = run.gpus,
                          .states = states_of(*run.made.value(), variant)};
}

// Machines are paid for as a whole.
void add_idle_note(const Run& run, const CapacityQuestion::Point& point, const CandidateTerms& terms, std::vector<base::Note>& notes) {
  if (run.status == Status::ok && run.gpus < point.fleet.gpus)
    notes.push_back({base::NoteKind::caution, "idle-gpus",
                     fmt::format("{} uses {} of the {} GPUs of {} x {}; all of them are paid for", run.plan, run.gpus, point.fleet.gpus,
                                 terms.name, point.fleet.nodes)});
}

}  // namespace

std::size_t capacity_run_count(const CapacityQuestion& question) { return question.machines.size() * question.plans.size(); }

CapacityRun capacity_run(const CapacityQuestion& question, std::size_t i) {
  const std::size_t machine = i / question.plans.size(), plan = i % question.plans.size();
  return {question.plans[plan], seen_by(question.plans[plan], question.machines[machine]), machine_name(question, machine)};
}

CapacityResult capacity_answer(const CapacityQuestion& question, const std::vector<Run>& runs) {
  std::vector<CapacityCase> cases;
  std::vector<base::Note> notes = question.notes;
  for (const CapacityQuestion::Point& p : question.points)
    for (std::size_t plan = 0; plan < question.plans.size(); ++plan) {
      const std::size_t run = p.machine * question.plans.size() + plan;
      cases.push_back({.candidate = p.candidate,
                       .fleet = p.fleet,
                       .plan = plan,
                       .run = run,
                       .forecast = forecast_of(runs[run], seen_by(question.plans[plan], question.machines[p.machine]))});
      add_idle_note(runs[run], p, question.terms.candidates[p.candidate], notes);
    }
  CapacityResult result = capacity_result(question.terms, cases);
  result.notes.insert(result.notes.end(), notes.begin(), notes.end());
  std::ranges::stable_sort(result.notes, {}, &base::Note::kind);
  return result;
}

}  // namespace scenarios
