#include "scenarios/answer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/check.hpp"
#include "pcg/plan/plan_read.hpp"
#include "scenarios/accuracy/interval.hpp"
#include "sim/oracle.hpp"

namespace scenarios {
namespace {

// Backward costs twice forward: one product for each of the two gradients (Megatron-LM, arXiv 2104.04473, appendix).
constexpr double kForwardsPerIteration = 3;

base::Seconds now() { return base::Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()); }

// Samples are sequences when an embedding looks their tokens up.
std::int64_t tokens_per_sample(const pcg::Graph& model) {
  std::int64_t longest = 0;
  for (const pcg::GraphNode& n : model.nodes()) {
    if (!std::holds_alternative<pcg::Embedding>(n.op)) continue;
    const auto& indices = model.shape(n.inputs[0]).sizes;
    if (indices.size() == 2) longest = std::max(longest, indices[1]);
  }
  return longest;
}

double peak_of(const topology::Cluster& cluster, int gpus, pcg::Precision precision) {
  double sum = 0;
  for (const topology::Device& d : cluster.devices().first(static_cast<std::size_t>(gpus)))
    sum += profiles::device_profile(d.type).peak.at(precision).value();
  return sum;
}

std::string largest_part(const sim::MemoryUse& m) {
  const std::pair<const char*, base::Bytes> parts[] = {{"weights", m.weights},
                                                       {"gradients", m.gradients},
                                                       {"optimizer state", m.optimizer},
                                                       {"activations", m.activations},
                                                       {"workspace", m.workspace}};
  const auto& most = *std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  return fmt::format("{} ({})", most.first, search::memory_text(most.second));
}

// Whether the scenario's framework is the one that the plan runs with: a saved plan may name another.
bool is_of_scenario(const pcg::Plan& plan, const Framework& framework) {
  return framework.differs() && plan.training.framework == framework.profile.framework;
}

void add_numbers(Run& run, const Variant& variant) {
  const pcg::Plan& plan = *run.made;
  const sim::SimulationResult& s = *run.simulation;
  const double time_s = s.iteration_time.value();
  const auto batch = static_cast<double>(plan.training.global_batch);
  run.gpus = plan.gpus;
  run.plan_summary = plan.summary;
  Question question = question_of(plan, variant.cluster, s);
  // The residuals are of the profiles that ship: of another one nothing was measured.
  if (is_of_scenario(plan, variant.framework)) question.kind.framework += " of the scenario";
  Interval interval = interval_for(shipped_intervals(), question, s.iteration_time);
  run.interval_low = interval.low;
  run.interval_high = interval.high;
  run.notes.push_back(std::move(interval.note));
  if (is_of_scenario(plan, variant.framework)) run.notes.push_back(variant.framework.note());
  else if (variant.framework.differs())
    run.notes.push_back(fmt::format("timed with the profile that ships for {}: the scenario's is of another framework",
                                    pcg::framework_names()[static_cast<std::size_t>(plan.training.framework)]));
  run.notes.insert(run.notes.end(), s.notes.begin(), s.notes.end());
  if (time_s > 0) {
    run.samples_per_s = batch / time_s;
    run.tokens_per_s = run.samples_per_s * static_cast<double>(tokens_per_sample(variant.model));
    run.mfu = kForwardsPerIteration * variant.model.forward_flops().value() / static_cast<double>(variant.model.batch()) * batch /
              (time_s * peak_of(variant.cluster, plan.gpus, plan.training.precision));
  }
  if (s.memory.fits()) return;
  run.status = Status::out_of_memory;
  run.notes.insert(run.notes.begin(),
                   fmt::format("needs {} of {} on device {}: {} too much; most of it is {}", search::memory_text(s.memory.peak),
                               search::memory_text(s.memory.capacity), s.memory.device.value,
                               search::memory_text(s.memory.peak - s.memory.capacity), largest_part(s.memory)));
}

void simulate(Run& run, const Variant& variant, bool trace) {
  sim::SimulationConfig config;
  config.trace = trace;
  if (is_of_scenario(*run.made, variant.framework)) config.framework = variant.framework.profile;
  const base::Seconds start = now();
  run.simulation = sim::simulate_plan(*run.made, variant.cluster, config);
  run.simulation_time = now() - start;
  add_numbers(run, variant);
}

pcg::Plan saved_plan(const FileEntry& entry, const Variant& variant, std::vector<std::string>& notes) {
  pcg::Plan plan = pcg::read_plan(base::read_yaml(entry.file));
  if (plan.gpus > variant.cluster.device_count())
    throw search::PlanError(fmt::format("the saved plan needs {} GPUs, the cluster has {}", plan.gpus, variant.cluster.device_count()));
  for (const topology::Device& d : variant.cluster.devices().first(static_cast<std::size_t>(plan.gpus)))
    if (const auto why = profiles::unsupported(profiles::device_profile(d.type), plan.training.precision))
      throw search::PlanError(fmt::format("the saved plan trains in {}: {}", pcg::to_text(plan.training.precision), *why));
  pcg::TrainingConfig asked = variant.training;
  asked.framework = plan.training.framework;
  if (asked != plan.training)
    notes.push_back(fmt::format("the saved plan is run as it was saved: a global batch of {} in {}", plan.training.global_batch,
                                pcg::to_text(plan.training.precision)));
  return plan;
}

void search_plan(Run& run, const MegatronSearchEntry& entry, const search::Problem& problem, const RunOptions& options) {
  search::MegatronSearchConfig config = entry.config;
  config.seed = options.seed;
  config.clock = now;
  config.progress = options.progress;
  search::SearchResult found = search::megatron_search(problem, config);
  run.stop_reason = search::to_text(found.stop_reason);
  run.objective = found.objective;
  run.bound = found.bound;
  run.notes = std::move(found.notes);
  for (const search::Refusal& r : found.refusals) run.notes.push_back(fmt::format("lost: {}: {}", r.candidate, r.reason));
  if (found.best) run.made = std::move(*found.best);
  else run.status = found.stop_reason == search::StopReason::time_limit ? Status::time_limit : Status::infeasible;
}

void make_plan(Run& run, const PlanEntry& entry, const Variant& variant, const RunOptions& options) {
  sim::SimulationConfig config;
  if (variant.framework.differs()) config.framework = variant.framework.profile;
  const sim::Oracle oracle(variant.cluster, config);
  const search::Problem problem{variant.model, *variant.document.find("model"), variant.cluster, variant.training, oracle};
  const base::Seconds start = now();
  try {
    if (std::holds_alternative<DataParallelEntry>(entry.kind)) run.made = search::data_parallel_plan(problem);
    else if (const auto* m = std::get_if<MegatronEntry>(&entry.kind)) run.made = search::megatron_plan(problem, m->config);
    else if (const auto* f = std::get_if<FsdpEntry>(&entry.kind)) run.made = search::fsdp_plan(problem, f->config);
    else if (const auto* file = std::get_if<FileEntry>(&entry.kind)) run.made = saved_plan(*file, variant, run.notes);
    else search_plan(run, std::get<MegatronSearchEntry>(entry.kind), problem, options);
  } catch (const search::PlanError& e) {
    run.status = Status::infeasible;
    run.notes.emplace_back(e.what());
  }
  run.search_time = now() - start;
  if (run.made) {
    run.made->name = entry.name;
    if (!std::holds_alternative<FileEntry>(entry.kind)) {
      run.notes.insert(run.notes.end(), variant.notes.begin(), variant.notes.end());
      // A plan's kind implies a framework where none is named; changed keys name one.
      if (variant.framework.differs()) run.made->training.framework = variant.framework.profile.framework;
    }
    if (variant.training.framework == pcg::Framework::generic && run.made->training.framework != pcg::Framework::generic)
      run.notes.push_back(fmt::format("timed as {} runs it (buckets, overlap): the training section names no framework",
                                      pcg::framework_names()[static_cast<std::size_t>(run.made->training.framework)]));
  }
  run.gpus = variant.cluster.device_count();
}

bool is_planner(const PlanEntry& entry) { return std::holds_alternative<MegatronSearchEntry>(entry.kind); }

bool is_better(const Run& a, const Run& b) {
  if ((a.status == Status::ok) != (b.status == Status::ok)) return a.status == Status::ok;
  return a.simulation && (!b.simulation || a.simulation->iteration_time < b.simulation->iteration_time);
}

// The answer of the same plan, given as the planner's.
Run taken_over(const Run& same, Run run) {
  Run r = same;
  r.notes.insert(r.notes.begin(), run.notes.begin(), run.notes.end());
  r.replanned = true;
  r.search_time = run.search_time;
  r.objective = run.objective;
  r.bound = run.bound;
  r.stop_reason = run.stop_reason;
  return r;
}

}  // namespace

bool is_same_question(const Variant& a, const Variant& b) {
  return a.cluster.device_count() == b.cluster.device_count() && a.training == b.training && a.model == b.model;
}

Run answer_with_same_plan(const Run& base, const Variant& variant, const std::string& variant_name) {
  BASE_CHECK(base.made, "{} has no plan", base.plan);
  Run run;
  run.plan = base.plan;
  run.variant = variant_name;
  run.replanned = false;
  run.made = base.made;
  simulate(run, variant, false);
  return run;
}

Run answer(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, const Run* same_plan, const RunOptions& options,
           bool trace) {
  Run planned;
  planned.plan = entry.name;
  planned.variant = variant_name;
  make_plan(planned, entry, variant, options);
  if (same_plan != nullptr && planned.made && *planned.made == *same_plan->made) return taken_over(*same_plan, std::move(planned));
  Run run = planned;
  if (run.made) simulate(run, variant, trace);
  if (same_plan == nullptr || !is_planner(entry) || !is_better(*same_plan, run)) return run;
  planned.notes.emplace_back("the plan of the base is still the best that the search knows");
  return taken_over(*same_plan, std::move(planned));
}

}  // namespace scenarios
