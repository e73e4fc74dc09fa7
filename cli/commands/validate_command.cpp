#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/html/page.hpp"
#include "reports/validation/assessment.hpp"
#include "scenarios/confidence/validate.hpp"
#include "scenarios/intervals/interval.hpp"

namespace cli {
namespace {

struct ValidateFlags {
  std::vector<std::string> data, limits;
  std::string json, report, write_intervals;
  int jobs = 1;
  base::Verbosity verbosity = base::Verbosity::usual;
};

// The files lie beside the table.
std::vector<measured::Point> points_named_in(const measured::StepTable& steps) {
  std::vector<measured::Point> points;
  for (const std::string& name : steps.point_tables) {
    const std::filesystem::path file = (std::filesystem::path(steps.file).parent_path() / name).lexically_normal();
    std::ranges::move(measured::read_points(read_text(file), file.string()), std::back_inserter(points));
  }
  return points;
}

confidence::Assessment assess(const ValidateFlags& f, std::vector<confidence::Residual>& residuals) {
  std::vector<confidence::Table> tables;
  for (const std::string& file : f.data) tables.push_back(confidence::read_table(read_text(file), file));
  base::ProgressLine line(f.verbosity);
  confidence::ValidationOptions options;
  for (const confidence::Table& t : tables)
    if (const auto* steps = std::get_if<measured::StepTable>(&t))
      std::ranges::move(points_named_in(*steps), std::back_inserter(options.points_of_steps));
  options.jobs = f.jobs;
  options.progress = [&](std::string_view text) { line.show(text); };
  confidence::Validation v = confidence::validate(tables, options);
  residuals = std::move(v.residuals);
  std::optional<confidence::UnseenCoverage> unseen;
  if (!residuals.empty()) unseen = confidence::unseen_coverage(residuals);
  confidence::Assessment a = confidence::assess(std::move(v.items), std::move(unseen), std::move(v.notes));
  a.left_out_pairs = confidence::left_out_pairs(residuals);
  return a;
}

int validate(const ValidateFlags& f) {
  std::vector<confidence::Limit> limits;
  for (const std::string& text : f.limits) limits.push_back(confidence::read_limit(text));
  check_outputs({{"--json", f.json}, {"--report", f.report}, {"--write-intervals", f.write_intervals}});
  std::vector<confidence::Residual> residuals;
  const confidence::Assessment a = assess(f, residuals);
  const std::vector<std::string> misses = confidence::missed(a, limits);
  if (!f.json.empty()) write_text(f.json, reports::json_report(a));
  if (!f.report.empty()) write_text(f.report, reports::validation_page(a));
  if (!f.write_intervals.empty()) {
    if (residuals.empty()) base::refuse("--write-intervals", "no point has a forecast, so there are no residuals");
    scenarios::IntervalModel model = confidence::fit_intervals(residuals);
    model.pairs = confidence::fit_pairs(residuals, model.level);
    write_text(f.write_intervals, scenarios::write_intervals(model, "foreshard validate --write-intervals"));
  }
  const bool taken = f.json == "-" || f.report == "-" || f.write_intervals == "-";
  if (f.verbosity == base::Verbosity::usual && !taken) print(reports::text_report(a));
  for (const std::string& m : misses) tell(fmt::format("missed: {}\n", m));
  return misses.empty() ? kAnswered : kNo;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  const auto f = std::make_shared<ValidateFlags>();
  CLI::App* c = app.add_subcommand("validate", "Hold forecasts against measurements, with error statistics");
  c->add_option("data", f->data, "Points (CSV), kernels of steps, or measured kernels or collectives")->required();
  c->add_option("--json", f->json, "Write groups and points as JSON; - is standard output");
  c->add_option("--report", f->report, "Write an HTML report with scatter plots: one file that needs no network");
  c->add_option("--limit", f->limits,
                "GROUP=7%: exit 1 if a group's mean error is above; GROUP:tau=0.85, GROUP:coverage=85%, GROUP:peak=10%, "
                "GROUP:reserved=10%; mpt-* is a prefix");
  c->add_option("--jobs", f->jobs, "Worker processes")->check(CLI::Range(1, 1024));
  c->add_option("--write-intervals", f->write_intervals, "Write the residuals' quantiles, from which forecasts get their intervals");
  add_quiet(*c, f->verbosity, "Neither table nor progress");
  set_action(*c, action, [f] { return validate(*f); });
}

}  // namespace cli
