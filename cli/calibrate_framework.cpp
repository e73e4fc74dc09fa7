#include "cli/calibrate_framework.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostics.hpp"
#include "base/progress.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "validation/framework_fit.hpp"

namespace cli {
namespace {

pcg::Framework framework_named(const std::string& name) {
  const auto& names = pcg::framework_names();
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    throw base::InputError(
        std::vector<base::Diagnostic>{{{}, "--framework", fmt::format("\"{}\" is no framework", name), base::suggest(name, names)}});
  return static_cast<pcg::Framework>(at - names.begin());
}

std::vector<validation::Point> points_of(const FrameworkCalibration& f) {
  std::vector<validation::Point> points;
  for (const std::string& file : f.files)
    for (validation::Point& p : validation::read_points(read_text(file), file))
      if (p.framework == f.framework) points.push_back(std::move(p));
  return points;
}

// As the profile's file says it.
std::string value_text(const std::string& constant, double value) {
  return constant.starts_with("host.") ? base::to_text(base::Seconds(value)) : fmt::format("{:.3f}", value);
}

}  // namespace

int calibrate_framework(const FrameworkCalibration& f) {
  const profiles::FrameworkProfile& start = profiles::framework_profile(framework_named(f.framework));
  base::ProgressLine line(/*quiet=*/false);
  validation::FrameworkFitConfig config{.constants = f.constants, .jobs = f.jobs, .evaluations = f.evaluations};
  config.progress = [&line](int evaluation, double error) {
    line.show(fmt::format("evaluation {}: mean error {:.1f} %", evaluation, 100 * error));
  };
  const validation::FrameworkFit fit = validation::fit_framework(start, points_of(f), config);
  if (f.json != "-") {
    fmt::print(
        "{}: {} points; mean error {:.1f} % before, {:.1f} % fitted, {:.1f} % when each half is forecast by constants of the other\n",
        f.framework, fit.points, 100 * fit.error_before, 100 * fit.error, 100 * fit.cross_validated);
    for (const auto& [constant, value] : fit.values) fmt::print("  {:<24} {}\n", constant, value_text(constant, value));
  }
  if (!f.json.empty()) {
    nlohmann::ordered_json j = {{"foreshard", 1},
                                {"framework", f.framework},
                                {"points", fit.points},
                                {"error_before", fit.error_before},
                                {"error", fit.error},
                                {"cross_validated", fit.cross_validated},
                                {"constants", nlohmann::ordered_json::object()}};
    for (const auto& [constant, value] : fit.values) j["constants"][constant] = value;
    write_text(f.json, j.dump(2) + "\n");
  }
  return kAnswered;
}

}  // namespace cli
