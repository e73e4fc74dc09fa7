#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/yaml/parse.hpp"
#include "base/yaml/tree.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/answer.hpp"
#include "reports/compare/compare.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/comparison/calibration.hpp"
#include "scenarios/comparison/comparison.hpp"

namespace cli {
namespace {

struct CompareFlags {
  std::string scenario, plan, json, report, trace, calibrate;
  std::vector<std::string> traces;
  std::optional<std::size_t> iteration;
  base::Verbosity verbosity = base::Verbosity::usual;
};

// The plan that is compared: as it is named, else the one that a trace of our own is of, else all, of which the best is.
std::string wanted_plan(const CompareFlags& f, const scenarios::Scenario& scenario, const std::vector<comparison::Trace>& traces) {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(scenario.plans, name, &scenarios::PlanEntry::name) != scenario.plans.end();
  };
  if (!f.plan.empty()) {
    std::vector<std::string> names;
    for (const scenarios::PlanEntry& p : scenario.plans) names.push_back(p.name);
    if (!has(f.plan)) base::refuse("--plan", fmt::format("the scenario has no plan \"{}\"", f.plan), base::suggest(f.plan, names));
    return f.plan;
  }
  for (const comparison::Trace& t : traces)
    if (const auto* own = std::get_if<comparison::OwnTrace>(&t.content); own != nullptr && has(own->plan)) return own->plan;
  return "";
}

scenarios::RunOptions options_of(base::ProgressLine& line) {
  scenarios::RunOptions options;
  options.program = {program_version(), program_commit()};
  options.progress = [&line](std::string_view text) { line.show(text); };
  return options;
}

// Returns the answer of the plan, or of the best one where none is named, on the base alone.
scenarios::ScenarioResult answer_of(scenarios::Scenario scenario, const std::string& plan, base::Verbosity verbosity) {
  if (scenario.plans.empty())
    base::refuse("compare", "the scenario asks what to buy, and has no plans of its own", "add the plan that the trace is of");
  if (!plan.empty()) std::erase_if(scenario.plans, [&](const scenarios::PlanEntry& p) { return p.name != plan; });
  scenario.variants = scenarios::VariantList(scenario.base());
  scenario.probes.clear();
  scenario.capacity.reset();
  base::ProgressLine line(verbosity);
  scenarios::RunOptions options = options_of(line);
  options.trace = true;
  return scenarios::run_scenario(scenario, options);
}

const scenarios::Run* compared_run(const scenarios::ScenarioResult& result) {
  if (const scenarios::Run* best = result.best_of_base()) return best;
  const auto simulated = std::ranges::find_if(result.runs, [](const scenarios::Run& r) { return r.simulation.has_value(); });
  return simulated == result.runs.end() ? nullptr : &*simulated;  // a plan that does not fit may have been run all the same
}

constexpr const char* kCalibratedName = "calibrated";

// The same plans, as they are and with the profiles in `folder`.
base::Yaml calibrated_question(base::Yaml question, const std::filesystem::path& device, const std::filesystem::path& framework) {
  for (const char* key : {"what_if", "capacity", "sensitivity"}) question.erase(key);
  const auto text = [](std::string t) { return base::Yaml::make_scalar(std::move(t)); };
  base::Yaml what_ifs = base::Yaml::make_sequence();
  what_ifs.items.push_back(
      base::map_of({{"name", text(kCalibratedName)},
                    {"set", base::map_of({{"cluster.node.gpus.file", text(device.string())},
                                          {"training.framework", base::map_of({{"file", text(framework.string())}})}})},
                    {"replan", text("false")}}));
  question.set("what_if", std::move(what_ifs));
  return question;
}

// Writes the profiles, and the scenario that has them as a what-if, which is answered. Returns the text about both.
std::string calibrate_to(const CompareFlags& f, const scenarios::Scenario& scenario, const scenarios::Run& run, comparison::Comparison& c) {
  const auto entry = std::ranges::find(scenario.plans, run.plan, &scenarios::PlanEntry::name);
  std::string command = "foreshard compare " + std::filesystem::path(f.scenario).filename().string();
  for (const std::string& trace : f.traces) command += " " + std::filesystem::path(trace).filename().string();
  const comparison::Calibration found =
      comparison::calibrate(c, run, scenarios::seen_by(*entry, scenario.base()), command + " --calibrate");
  make_folder(f.calibrate);
  const std::filesystem::path folder = std::filesystem::absolute(f.calibrate);
  const auto device = folder / (found.device_name + ".yaml"), framework = folder / (found.framework_name + ".yaml");
  const base::Yaml question = calibrated_question(scenario.question, device, framework);
  write_text(device, found.device);
  write_text(framework, found.framework);
  write_text(folder / "scenario.yaml", base::emit_yaml(question));
  base::ProgressLine line(f.verbosity);
  const auto answered = [&](const std::string& plan) {
    scenarios::Scenario asked = scenarios::load_scenario(question, scenario.directory);
    std::erase_if(asked.plans, [&](const scenarios::PlanEntry& p) { return !plan.empty() && p.name != plan; });
    return scenarios::run_scenario(asked, options_of(line));
  };
  const auto calibrated_in = [&](const scenarios::ScenarioResult& result) -> const scenarios::Run* {
    for (const scenarios::Run& r : result.runs)
      if (r.plan == run.plan && r.variant == kCalibratedName && r.simulation) return &r;
    return nullptr;
  };
  std::optional<comparison::Misses> held_out;
  if (!c.held_out.empty()) {
    const scenarios::ScenarioResult one = answered(run.plan);
    if (const scenarios::Run* r = calibrated_in(one))
      held_out = comparison::misses_of(c, r->simulation->iteration_time / run.simulation->iteration_time);
    if (held_out) write_text(framework, comparison::with_spread(found.framework, *held_out, command + " --calibrate"));
  }
  const scenarios::ScenarioResult result = answered("");
  if (const scenarios::Run* r = calibrated_in(result))
    c.calibrated = {c.predicted_s * (r->simulation->iteration_time / run.simulation->iteration_time), r->interval_low.value(),
                    r->interval_high.value(), held_out};
  const std::string table =
      "\n" + reports::text_table(result, {wanted_colour(), wanted_width(), reports::NotesShown::few}, reports::Explained::no);
  return (c.calibrated ? reports::calibration_text(c, found, wanted_width()) : "") + table;
}

int compare_traces(const CompareFlags& f) {
  check_outputs({{"--json", f.json}, {"--report", f.report}, {"--trace", f.trace}});
  check_output_folder(f.calibrate, "--calibrate");
  const std::filesystem::path file = f.scenario;
  const scenarios::Scenario scenario = scenarios::load_scenario(base::read_yaml(file), file.parent_path());
  std::vector<comparison::Trace> traces;
  for (const std::string& trace : f.traces) traces.push_back(comparison::read_trace(trace));
  const scenarios::ScenarioResult result = answer_of(scenario, wanted_plan(f, scenario, traces), f.verbosity);
  const scenarios::Run* run = compared_run(result);
  if (run == nullptr) {
    print(reports::text_table(result, {wanted_colour(), wanted_width(), reports::NotesShown::few}, reports::Explained::no));
    return kNo;
  }
  comparison::Comparison c = comparison::compare(scenario, *run, traces, f.iteration);
  std::string calibrated;
  if (!f.calibrate.empty()) calibrated = calibrate_to(f, scenario, *run, c);
  if (!f.json.empty()) write_text(f.json, reports::compare_json(c));
  if (!f.report.empty()) write_text(f.report, reports::compare_page(c));
  if (!f.trace.empty()) write_text(f.trace, reports::compare_trace(c));
  const bool taken = f.json == "-" || f.report == "-" || f.trace == "-";
  if (f.verbosity == base::Verbosity::usual && !taken) print(reports::compare_text(c, wanted_width()) + calibrated);
  return c.aligned_share > 0 ? kAnswered : kNo;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto f = std::make_shared<CompareFlags>();
  CLI::App* c =
      app.add_subcommand("compare", "Put a forecast beside measured traces, and say which kernels, transfers and gaps make the difference");
  c->add_option("scenario", f->scenario, "The scenario file that describes what was traced")->required();
  c->add_option("traces", f->traces, "Traces of its ranks: Kineto (.json, .json.gz), Nsight Systems SQLite exports, or of run --trace")
      ->required();
  c->add_option("--plan", f->plan, "The plan of the scenario that was traced; else the best one");
  c->add_option("--iteration", f->iteration,
                "The iteration to compare: its number as the profiler marked it, or its place, from 0; else a steady one");
  c->add_option(
      "--calibrate", f->calibrate,
      "Write profiles of the device and the framework with what the traces say into this directory, and answer the scenario with them");
  c->add_option("--json", f->json, "Write the comparison as JSON; - is standard output");
  c->add_option("--report", f->report, "Write an HTML page with both timelines: one file that needs no network");
  c->add_option("--trace", f->trace, "Write both timelines as one Chrome trace, for Perfetto; .json.gz is compressed");
  add_quiet(*c, f->verbosity, "Neither table nor progress");
  set_action(*c, action, [f] { return compare_traces(*f); });
}

}  // namespace cli
