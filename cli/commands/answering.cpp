#include "cli/commands/answering.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/files/used_files.hpp"
#include "base/processes/child_process.hpp"
#include "cli/commands/command.hpp"
#include "cli/ranks/ranks.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/answer.hpp"
#include "reports/html/page.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"

namespace cli {
namespace {

using PlanFiles = std::map<std::tuple<std::size_t, std::string, std::string>, std::filesystem::path>;  // by scenario, plan, variant

// Throws: base::InputError when a plan's file is one that has been read, or cannot be written.
PlanFiles plan_files(const std::filesystem::path& folder, std::span<const scenarios::Scenario> asked) {
  PlanFiles files;
  std::error_code error;
  const bool is_there = std::filesystem::is_directory(folder, error);
  std::set<std::string> taken;  // plans whose names differ may have one file name
  for (std::size_t s = 0; s < asked.size(); ++s)
    for (const scenarios::WhatIf& v : asked[s].variants)
      for (const scenarios::PlanEntry& p : asked[s].plans) {
        std::string name = file_name(p.name);
        if (v.name != scenarios::kBaseName) name += "--" + file_name(v.name);
        if (asked.size() > 1) name = file_name(asked[s].name) + "--" + name;
        const std::string wanted = name;
        for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}-{}", wanted, copy);
        const std::filesystem::path file = folder / (name + ".plan.yaml");
        if (is_there) check_outputs({{"--save-plans", file.string()}});
        files.emplace(std::tuple(s, p.name, v.name), file);
      }
  return files;
}

// Writes the plans of the base, and those of variants that are other ones.
void save_plans(const std::filesystem::path& folder, const PlanFiles& files, std::span<const scenarios::ScenarioResult> results) {
  make_folder(folder);
  for (std::size_t s = 0; s < results.size(); ++s)
    for (const scenarios::Run& r : results[s].runs) {
      if (!r.made || !r.replanned) continue;
      const auto same = [&](const scenarios::Run& b) { return b.is_of_base() && b.plan == r.plan && scenarios::have_same_plan(b, r); };
      if (!r.is_of_base() && std::ranges::any_of(results[s].runs, same)) continue;
      write_text(files.at({s, r.plan, r.variant}), r.made.text());
    }
}

using Results = std::vector<scenarios::ScenarioResult>;

std::string joined_json(const Results& results, reports::Explained explained) {
  if (results.size() == 1) return reports::json(results[0], explained);
  std::string text = "[";  // several scenarios: a list of results
  for (std::size_t i = 0; i < results.size(); ++i) text += (i == 0 ? "\n" : ",\n") + reports::json(results[i], explained);
  return text + "]\n";
}

std::string report(const std::vector<scenarios::Scenario>& asked, const Results& results) {
  std::vector<reports::ReportedScenario> reported;
  for (std::size_t i = 0; i < results.size(); ++i)
    reported.push_back({&results[i], asked[i].plans.empty() ? nullptr : asked[i].base().cluster.get()});
  return reports::scenario_page(reported);
}

bool has_run(const scenarios::ScenarioResult& result, scenarios::Status status) {
  const auto is = [&](const scenarios::Run& r) { return r.status == status; };
  return std::ranges::any_of(result.runs, is) || std::ranges::any_of(result.capacity_runs, is);
}

bool has_run(const Results& results, scenarios::Status status) {
  return std::ranges::any_of(results, [&](const auto& result) { return has_run(result, status); });
}

int exit_code(const Results& results) {
  if (has_run(results, scenarios::Status::crashed)) {
    tell(kBugText);
    return kBug;
  }
  if (base::interrupted()) return kSignalled + base::interruption();
  if (has_run(results, scenarios::Status::lost)) return kIncomplete;
  // A scenario has its answer where any plan runs; a what-if that nothing fits is an answer too.
  if (std::ranges::all_of(results, [](const auto& result) { return has_run(result, scenarios::Status::ok); })) return kAnswered;
  return has_run(results, scenarios::Status::time_limit) ? kIncomplete : kNo;
}

// A scenario of capacity alone has nothing to write there.
void refuse_without_plans(const RunFlags& f, const std::vector<scenarios::Scenario>& asked) {
  if (std::ranges::any_of(asked, [](const auto& s) { return !s.plans.empty(); })) return;
  base::Diagnostics sink;
  for (const auto& [option, value] : {std::pair("--trace", &f.trace), std::pair("--save-plans", &f.save_plans)})
    if (!value->empty())
      sink.add({}, option, "the scenario asks what to buy, and has no plans of its own",
               "its answer is in the table, --json, --csv and --report; or add plans to the scenario");
  sink.throw_if_any();
}

std::string in_format(const RunFlags& f, const Results& results, const reports::TextStyle& style, reports::Explained explained) {
  if (f.format == "json") return joined_json(results, explained);
  if (f.format == "csv") return reports::csv(results);
  std::string text;
  for (const scenarios::ScenarioResult& r : results)
    text += (text.empty() ? "" : "\n") + (f.format == "markdown" ? reports::markdown(r) : reports::text_table(r, style, explained));
  return text;
}

int answer(const RunFlags& f, const LoadScenarios& load, const Launched& launch) {
  const bool is_first = launch.rank == 0;
  check_outputs({{"--json", f.json}, {"--csv", f.csv}, {"--trace", f.trace}, {"--report", f.report}});
  check_output_folder(f.save_plans, "--save-plans");  // before anything is read
  const std::vector<scenarios::Scenario> loaded = load();
  refuse_without_plans(f, loaded);
  PlanFiles files;
  if (!f.save_plans.empty() && is_first) files = plan_files(f.save_plans, loaded);
  Results results;
  {  // the progress line is wiped at the end, before anything else is printed
    base::ProgressLine line(is_first ? f.verbosity : base::Verbosity::quiet);
    scenarios::RunOptions options;
    options.jobs = f.jobs;
    options.seed = f.seed;
    options.program = {program_version(), program_commit()};
    options.trace = !f.trace.empty() || !f.report.empty();
    options.resume = f.resume;
    if (!f.resume.empty()) options.inputs = base::fingerprint_of_inputs(f.scenarios);
    std::optional<Ranks> ranks;
    if (!launch.is_alone()) options.workers = ranks.emplace().workers();
    base::note_interruptions();
    options.interrupted = base::interrupted;
    options.progress = [&](std::string_view text) { line.show(text); };
    for (const auto& s : loaded) results.push_back(scenarios::run_scenario(s, options));
  }
  if (!is_first) return kAnswered;  // the first rank has the same answers, and gives them
  const reports::Explained explained = f.explain ? reports::Explained::yes : reports::Explained::no;
  if (!f.json.empty()) write_text(f.json, joined_json(results, explained));
  if (!f.csv.empty()) write_text(f.csv, reports::csv(results));
  if (!f.trace.empty()) write_text(f.trace, reports::chrome_trace(results[0]));
  if (!f.report.empty()) write_text(f.report, report(loaded, results));
  if (!f.save_plans.empty()) save_plans(f.save_plans, files, results);
  // Launchers give ranks a terminal of their own, whatever it leads to.
  const reports::TextStyle style{launch.is_alone() ? wanted_colour() : reports::Colour::none, wanted_width(),
                                 f.notes == "all" ? reports::NotesShown::all : reports::NotesShown::few};
  const bool taken = f.json == "-" || f.csv == "-" || f.trace == "-" || f.report == "-";  // standard output is for a program
  const bool is_for_people = f.format == "table" || f.format == "markdown";               // what --quiet spares
  if (!taken && (f.verbosity == base::Verbosity::usual || !is_for_people)) print(in_format(f, results, style, explained));
  return exit_code(results);
}

}  // namespace

int answer_all(const RunFlags& f, const LoadScenarios& load) {
  const Launched launch = launched();
  if (launch.rank == 0) return answer(f, load, launch);
  silence_answers();
  try {
    return answer(f, load, launch);
  } catch (const base::InputError&) {
    let_first_speak();
    throw;
  }
}

void add_answer_options(CLI::App& c, RunFlags& f) {
  c.add_option("--format", f.format, "What is printed: table, markdown, csv or json")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json"}));
  c.add_option("--json", f.json, "Write the results as JSON, format 2; - is standard output");
  c.add_option("--csv", f.csv, "Write one row for each run, machine of capacity and sensitivity");
  c.add_option("--trace", f.trace, "Write the best plan of the first scenario as a Chrome trace, for Perfetto; .json.gz is compressed");
  c.add_option("--save-plans", f.save_plans, "Write every plan into this directory");
  c.add_flag("--explain", f.explain, "Say what made each plan: substitutions, differences from data parallelism, all runners-up");
  c.add_option("--notes", f.notes, "few: the ten lines that matter most; all")->check(CLI::IsMember({"few", "all"}));
  c.add_option("--report", f.report, "Write an HTML report: one file that needs no network");
  c.add_option("--resume", f.resume,
               "Keep answers in this directory as they come, and take from it those that are there: what was cut off goes on");
  c.add_option("--jobs", f.jobs, "Worker processes")->check(CLI::Range(1, 1024));
  add_seed(c, f.seed, "Seed of searches");
  add_quiet(c, f.verbosity, "Neither table nor progress");
}

}  // namespace cli
