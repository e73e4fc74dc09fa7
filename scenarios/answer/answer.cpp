#include "scenarios/answer/answer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "profiles/profile_files.hpp"
#include "scenarios/answer/comparisons.hpp"
#include "scenarios/answer/forecast_facts.hpp"
#include "scenarios/answer/wording.hpp"
#include "scenarios/intervals/interval.hpp"
#include "scenarios/question/subject.hpp"
#include "sim/effort.hpp"
#include "sim/memory/memory.hpp"
#include "sim/oracle.hpp"

namespace scenarios {
namespace {

using base::NoteKind;

// Backward costs twice forward: one product for each of the two gradients (Megatron-LM, arXiv 2104.04473, appendix).
constexpr double kPasses = 3;  // forward, and backward for both factors of a product

base::Seconds now() { return base::Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()); }

double peak_of(const topology::Cluster& cluster, int gpus, pcg::Precision precision) {
  double sum = 0;
  for (const topology::Device& d : cluster.devices().first(static_cast<std::size_t>(gpus)))
    sum += profiles::device_profile(d.type).peak.at(precision).value() * d.speed.compute;
  return sum;
}

Run start_of(const std::string& plan, const Variant& variant, const std::string& variant_name) {
  return {.plan = plan,
          .variant = variant_name,
          .framework = variant.framework.name(),
          .has_own_framework = variant.framework.named_by == Framework::NamedBy::entry};
}

std::set<std::string> devices_of(const Variant& variant, const pcg::Plan& plan) {
  return device_types(variant.cluster->devices().first(static_cast<std::size_t>(plan.gpus)));
}

Workload workload_in(const Variant& variant, const pcg::Plan& plan, const sim::SimulationResult& s) {
  Workload workload = workload_of(plan, *variant.cluster, s);
  // Profiles that were held against a trace have residuals of their own.
  const profiles::HostCosts& host = variant.framework.profile.host;
  workload.held_out_spread = host.held_out_spread;
  workload.calibrated = host.held_out_spread > 0 ? calibrated_share(s, host.basis == profiles::HostBasis::fitted) : 0;
  workload.kind.own = {.framework = host.held_out_spread == 0 && variant.framework.differs(),
                       .device = host.held_out_spread == 0 && std::ranges::any_of(devices_of(variant, plan), profiles::is_file),
                       .network = profiles::is_file(variant.cluster->network_profile())};
  return workload;
}

// Links of half the assumed speed, or of twice as much: the GPUs wait for them twice as long, or half.
Interval interval_in(const Variant& variant, const Workload& workload, const sim::SimulationResult& s) {
  Interval interval = interval_for(shipped_intervals(), workload, s.iteration_time);
  base::Seconds on_assumed;
  for (const auto& [type, exposed] : s.breakdown.exposed_by_link)
    if (variant.cluster->is_assumed(type)) on_assumed += exposed;
  interval.low -= on_assumed * 0.5;
  interval.high += on_assumed;
  return interval;
}

// More than the peak is a matter of what is counted, or a forecast that is too short.
void add_numbers(Run& run, const Variant& variant) {
  const pcg::Plan& plan = *run.made;
  sim::SimulationResult& s = *run.simulation;
  s.memory.margin = variant.memory_margin;
  const double time_s = s.iteration_time.value();
  const auto batch = static_cast<double>(plan.training.global_batch);
  run.gpus = plan.gpus;
  run.plan_summary = plan.summary;
  const std::set<std::string> devices = devices_of(variant, plan);
  const Workload workload = workload_in(variant, plan, s);
  Interval interval = interval_in(variant, workload, s);
  run.interval_low = interval.low;
  run.interval_high = interval.high;
  run.facts = facts_of(variant, plan, s, workload);
  run.facts.spread = own_spread(run);
  run.facts.unmeasured = unmeasured_growth(shipped_intervals(), workload);
  run.notes.push_back(std::move(interval.note));
  for (const std::vector<base::Note>& notes : {unsaid_note(variant), faster_precision_note(variant)})
    run.notes.insert(run.notes.end(), notes.begin(), notes.end());
  if (variant.framework.named_by != Framework::NamedBy::none) run.notes.push_back(variant.framework.note());
  if (const std::int64_t all = variant.model->parameters(), frozen = variant.model->frozen_parameters(); frozen > 0)
    run.notes.push_back({NoteKind::detail, "frozen", fmt::format("{} of {} parameters are trained, the others frozen", all - frozen, all)});
  for (const std::string& type : devices)
    if (profiles::is_file(type))
      run.notes.push_back({NoteKind::detail, "device-profile", fmt::format("device profile {}", profiles::device_title(type))});
  for (const base::Fact& fact : s.notes) run.notes.push_back(note_of(fact));
  if (time_s > 0) {
    run.samples_per_s = batch / time_s;
    run.tokens_per_s = run.samples_per_s * static_cast<double>(variant.model->tokens_per_sample());
    const double batches = batch / static_cast<double>(variant.model->batch());
    const double peak = time_s * peak_of(*variant.cluster, plan.gpus, plan.training.precision);
    run.mfu = batches * variant.model->iteration_flops().value() / peak;
    run.mfu_causal = run.mfu - kPasses * batches * variant.model->masked_flops().value() / peak;
    if (auto note = high_mfu_note(run.mfu_causal)) run.notes.push_back(std::move(*note));
  }
  // What a cut-off search came closest with is no verdict.
  if (!s.memory.fits() && run.status != Status::time_limit) run.status = Status::out_of_memory;
}

void simulate(Run& run, const Variant& variant, Spans spans) {
  const sim::SimulationConfig config{.trace = spans == Spans::keep, .framework = variant.framework.profile};
  const base::Seconds start = now();
  run.simulation = sim::simulate_plan(*run.made, *variant.cluster, config);
  run.simulation_time = now() - start;
  add_numbers(run, variant);
}

search::Attempt<pcg::Plan> saved_plan(const FileEntry& entry, const Variant& variant, std::vector<base::Note>& notes) {
  using search::Constraint;
  using search::Refusal;
  pcg::Plan plan = *entry.plan;
  if (auto other = of_another_model(plan, variant)) return Refusal{Constraint::model, std::move(*other)};
  const int gpus = variant.cluster->device_count();
  if (plan.gpus > gpus)
    return Refusal{Constraint::devices, fmt::format("the saved plan needs {} GPUs, the cluster has {}", plan.gpus, gpus)};
  for (const topology::Device& d : variant.cluster->devices().first(static_cast<std::size_t>(plan.gpus)))
    if (const auto why = profiles::unsupported(profiles::device_profile(d.type), plan.training.precision))
      return Refusal{Constraint::precision, fmt::format("the saved plan trains in {}: {}", pcg::to_text(plan.training.precision), *why)};
  const pcg::Framework saved_with = std::exchange(plan.training.framework, variant.training.framework);
  if (saved_with != plan.training.framework)
    notes.push_back({NoteKind::problem, "other-framework",
                     fmt::format("the plan was saved under the framework {}; it is timed under {}", pcg::name_of(saved_with),
                                 variant.framework.name())});
  if (variant.training != plan.training)
    notes.push_back({NoteKind::problem, "saved-training",
                     fmt::format("the saved plan is run as it was saved: a global batch of {} in {}", plan.training.global_batch,
                                 pcg::to_text(plan.training.precision))});
  return plan;
}

// Collectives of more flows are bounded in searches, not run: exact where all flows of a phase end together, as in an all-to-all. What a
// search confirms is simulated whole.
constexpr std::size_t kFlowsOfSearches = 2000;

// A search ends by the clock where it takes this many times the seconds of a processor that the budget says, whatever else the machine
// does; or hardly gets a processor for that long.
constexpr double kSlowest = 4, kBusiest = 10;
constexpr base::Seconds kLeastTime(20);

std::function<bool()> safety_net(const PlannerEntry& entry, int gpus) {
  if (!entry.planner->searches) return {};
  const auto worked = [] { return base::Seconds(static_cast<double>(std::clock()) / CLOCKS_PER_SEC); };
  const base::Seconds most = std::max(kLeastTime, limits_of(entry.options, gpus).seconds * kSlowest);
  return [worked, work_ends = worked() + most, end = now() + most * kBusiest] { return worked() > work_ends || now() > end; };
}

search::SearchResult ask_planner(const PlannerEntry& entry, const Variant& variant, const topology::Cluster& cluster,
                                 const RunOptions& options) {
  const sim::Oracle oracle(cluster, {.framework = variant.framework.profile}, kFlowsOfSearches);
  const search::Problem problem{*variant.model, *variant.document.find("model"), cluster, variant.training, oracle};
  const auto effort = [&oracle] {
    oracle.spend(sim::kPoll);
    return oracle.effort();
  };
  const auto surety = [&variant](const pcg::Plan& plan, const sim::SimulationResult& s) {
    const Workload workload = workload_in(variant, plan, s);
    const std::size_t points = points_of_kind(shipped_intervals(), workload);
    return search::Surety{interval_in(variant, workload, s).high, points, points >= kLeastOfKind};
  };
  search::SearchResult result = entry.planner->plan(problem, entry.options,
                                                    {.seed = options.seed,
                                                     .clock = effort,
                                                     .spend = [&oracle](base::Seconds cost) { oracle.spend(cost); },
                                                     .overdue = safety_net(entry, cluster.device_count()),
                                                     .progress = options.progress,
                                                     .interrupted = options.interrupted,
                                                     .surety = surety,
                                                     .ranks_surely = entry.planner->searches && entry.options.choice("rank") == 1,
                                                     .jobs = options.jobs});
  BASE_CHECK(result.best.has_value() == result.termination.has_plan(), "{} answers with and without a plan", entry.planner->name());
  BASE_CHECK(!result.best || !result.closest, "{} answers with two plans", entry.planner->name());
  return result;
}

// Searches leave the margin of memory free; where no plan does and one would fit, they look once more at all memory.
search::SearchResult ask_with_margin(const PlannerEntry& entry, const Variant& variant, const RunOptions& options) {
  if (!entry.planner->searches || variant.memory_margin == 0) return ask_planner(entry, variant, *variant.cluster, options);
  const topology::Cluster roomy = variant.cluster->with_share_of_memory(
      1 - variant.memory_margin, [](const topology::Device& d) { return profiles::device_profile(d.type).memory; });
  search::SearchResult result = ask_planner(entry, variant, roomy, options);
  const sim::SimulationConfig config{.framework = variant.framework.profile};
  if (result.closest && sim::memory_of(*result.closest, *variant.cluster, config).fits())
    return ask_planner(entry, variant, *variant.cluster, options);
  if (result.simulation) result.simulation->memory = sim::memory_of(*result.best, *variant.cluster, config);
  return result;
}

search::SearchResult plan_for(const PlanEntry& entry, const Variant& variant, const RunOptions& options, std::vector<base::Note>& notes) {
  if (const auto* asked = std::get_if<PlannerEntry>(&entry.kind)) return ask_with_margin(*asked, variant, options);
  return search::result_of_rule(saved_plan(std::get<FileEntry>(entry.kind), variant, notes));
}

Planning planning_of(const PlanEntry& entry, search::SearchResult& result) {
  const auto* asked = std::get_if<PlannerEntry>(&entry.kind);
  const bool searched = asked != nullptr && asked->planner->searches;
  if (searched && result.best && result.found_by.empty()) result.found_by = asked->planner->kind;
  return {.searched = searched,
          .found_by = std::move(result.found_by),
          .termination = std::move(result.termination),
          .objective = result.objective,
          .bound = result.bound,
          .counted = result.counted,
          .lost = std::move(result.lost),
          .notes = std::move(result.notes)};
}

// An entry's plan, and its simulation where the planner has made it under the same conditions.
struct Planned {
  Run run;
  std::optional<sim::SimulationResult> simulation;
};

Planned make_plan(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, const RunOptions& options) {
  Planned planned;
  Run& run = planned.run = start_of(entry.name, variant, variant_name);
  run.gpus = variant.cluster->device_count();
  const auto* asked = std::get_if<PlannerEntry>(&entry.kind);
  const base::Seconds start = now();
  search::SearchResult result = plan_for(entry, variant, options, run.notes);
  run.search_time = now() - start;
  if (asked != nullptr && asked->planner->searches && options.interrupted && options.interrupted())
    run.notes.push_back({NoteKind::problem, "interrupted",
                         result.best ? "the search was interrupted: this is the best plan so far"
                                     : "the search was interrupted before any plan was found"});
  std::optional<pcg::Plan>& made = result.best ? result.best : result.closest;
  planned.simulation = std::move(result.simulation);
  run.planning = planning_of(entry, result);
  const search::Termination& t = run.planning->termination;
  run.status = t.has_plan() ? Status::ok : t.is_infeasible() ? Status::infeasible : Status::time_limit;
  if (!made) return planned;
  made->name = entry.name;
  run.made = std::make_shared<const pcg::Plan>(std::move(*made));
  if (asked != nullptr)
    for (const std::string& note : variant.notes) run.notes.push_back({NoteKind::assumption, "model-filled-in", note});
  return planned;
}

// The answer of the same plan, given as the planner's.
Run taken_over(const Run& same, Run planned) {
  Run r = same;
  r.notes.insert(r.notes.begin(), planned.notes.begin(), planned.notes.end());
  r.replanned = true;
  r.search_time = planned.search_time;
  r.planning = std::move(planned.planning);
  return r;
}

}  // namespace

bool is_same_question(const Variant& a, const Variant& b) {
  return a.cluster->device_count() == b.cluster->device_count() && a.training == b.training && a.memory_margin == b.memory_margin &&
         (a.model == b.model || *a.model == *b.model);
}

std::optional<std::string> why_no_plan(const PlanEntry& entry, const Variant& variant) {
  const auto* asked = std::get_if<PlannerEntry>(&entry.kind);
  if (asked != nullptr && asked->planner->searches) return std::nullopt;
  std::vector<base::Note> notes;
  const search::SearchResult result = plan_for(entry, variant, {}, notes);
  return result.termination.has_plan() ? std::nullopt : std::optional(search::to_text(result.termination));
}

Run answer_with_same_plan(const Run& base, const Variant& variant, const std::string& variant_name) {
  BASE_CHECK(base.made, "{} has no plan", base.plan);
  Run run = start_of(base.plan, variant, variant_name);
  run.replanned = false;
  run.made = base.made;
  simulate(run, variant, Spans::drop);
  return run;
}

Run unanswered(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, Status status, const std::string& ended) {
  Run run = start_of(entry.name, variant, variant_name);
  run.status = status;
  run.gpus = variant.cluster->device_count();
  run.notes.push_back(
      {NoteKind::problem, "no-answer",
       status == Status::crashed
           ? fmt::format("there is no answer: its worker process crashed ({}), and so did a second one", ended)
           : fmt::format(
                 "there is no answer: its worker process was ended from outside ({}), as the system does when memory runs out, and so "
                 "was a second one that worked alone",
                 ended)});
  return run;
}

Run answer(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, const Run* same_plan, const RunOptions& options,
           Spans spans) {
  auto [planned, simulation] = make_plan(entry, variant, variant_name, options);
  if (same_plan != nullptr && planned.made && *planned.made == *same_plan->made) return taken_over(*same_plan, std::move(planned));
  Run run = planned;
  if (run.made && simulation && spans == Spans::drop) {
    run.simulation = std::move(simulation);
    add_numbers(run, variant);
  } else if (run.made) {
    simulate(run, variant, spans);
  }
  if (same_plan == nullptr || !planned.planning->searched || !is_preferred(*same_plan, run)) return run;
  planned.notes.push_back({NoteKind::search, "base-plan-best", "the plan of the base is still the best that the search knows"});
  return taken_over(*same_plan, std::move(planned));
}

}  // namespace scenarios
