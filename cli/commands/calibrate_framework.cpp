#include "cli/commands/calibrate_framework.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/diagnostics.hpp"
#include "base/progress.hpp"
#include "base/yaml/parse.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "reports/calibration/framework.hpp"
#include "scenarios/confidence/fit/framework_fit.hpp"
#include "scenarios/confidence/fit/framework_text.hpp"

namespace cli {
namespace {

const int kDefaultEvaluations = FrameworkCalibration{}.evaluations;

struct Start {
  std::string file, text;  // file: empty: it ships
};

// The file that is given, else what is at the output, so that one command goes on where another ended, else what ships.
Start start_of(const FrameworkCalibration& f) {
  const auto& names = pcg::framework_names();
  const auto at = std::ranges::find(names, f.framework);
  std::error_code error;
  if (at != names.end()) {
    if (!f.output.empty() && f.output != "-" && std::filesystem::exists(f.output, error)) return {f.output, read_to_renew(f.output)};
    return {"", std::string(profiles::framework_text(static_cast<pcg::Framework>(at - names.begin())))};
  }
  if (std::filesystem::exists(f.framework, error)) return {f.framework, read_start(f.framework, f.output)};
  throw base::InputError(std::vector<base::Diagnostic>{
      {{}, "--framework", fmt::format("\"{}\" is neither a framework nor a file", f.framework), base::suggest(f.framework, names)}});
}

std::vector<measured::Point> points_of(const FrameworkCalibration& f, const std::string& framework) {
  std::vector<measured::Point> points;
  for (const std::string& file : f.files)
    for (measured::Point& p : measured::read_points(read_text(file), file))
      if (p.framework == framework && p.measured) points.push_back(std::move(p));
  return points;
}

// Files without their folders: the same on every machine.
std::string command_line(const FrameworkCalibration& f) {
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  std::string text = fmt::format("foreshard calibrate --framework {}", name(f.framework));
  for (const std::string& constant : f.constants) text += fmt::format(" --constant {}", constant);
  if (f.evaluations != kDefaultEvaluations) text += fmt::format(" --evaluations {}", f.evaluations);
  for (const std::string& file : f.files) text += " " + name(file);
  return text;
}

}  // namespace

int calibrate_framework(const FrameworkCalibration& f) {
  const Start start = start_of(f);
  const profiles::FrameworkProfile profile =
      profiles::load_framework_profile(base::parse_yaml(start.text, start.file.empty() ? f.framework : start.file));
  const std::string name = pcg::framework_names()[static_cast<std::size_t>(profile.framework)];
  base::ProgressLine line(f.verbosity);
  confidence::FrameworkFitConfig config{
      .file = start.file, .constants = f.constants, .jobs = f.jobs, .evaluations = f.evaluations, .progress = {}};
  config.progress = [&line](int evaluation, double error) {
    line.show(fmt::format("evaluation {}: mean error {:.1f} %", evaluation, 100 * error));
  };
  const confidence::FrameworkFit fit = confidence::fit_framework(profile, points_of(f, name), config);
  if (f.verbosity == base::Verbosity::usual && f.json != "-" && f.output != "-") print(reports::framework_fit_text(name, fit));
  if (!f.json.empty()) write_text(f.json, reports::framework_fit_json(name, fit));
  if (!f.output.empty()) write_text(f.output, confidence::with_fitted(start.text, fit, command_line(f)));
  return std::ranges::any_of(fit.constants, &confidence::FittedConstant::identifiable) ? kAnswered : kNo;
}

}  // namespace cli
