#include "reports/calibration/framework.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "scenarios/confidence/fit/framework_text.hpp"

namespace reports {

std::string framework_fit_text(const std::string& framework, const confidence::FrameworkFit& fit) {
  std::string text = fmt::format(
      "{}: {} points; mean error {:.1f} % before, {:.1f} % fitted, {:.1f} % when each half is forecast by constants of the other\n",
      framework, fit.points, 100 * fit.error_before, 100 * fit.error, 100 * fit.cross_validated);
  for (const confidence::FittedConstant& c : fit.constants) {
    // A constant that the points do not identify has no value of theirs to show.
    if (!c.identifiable)
      text += fmt::format("  {:<24} left as it is: a tenth more or less changes the mean error by less than 0.01 %\n", c.name);
    else
      text += fmt::format("  {:<24} {:<10} a tenth less: {:.1f} %, more: {:.1f} %\n", c.name, confidence::constant_text(c.name, c.value),
                          100 * c.error_less, 100 * c.error_more);
  }
  return text;
}

std::string framework_fit_json(const std::string& framework, const confidence::FrameworkFit& fit) {
  nlohmann::ordered_json j = {{"foreshard", 1},
                              {"framework", framework},
                              {"points", fit.points},
                              {"error_before", fit.error_before},
                              {"error", fit.error},
                              {"cross_validated", fit.cross_validated},
                              {"constants", nlohmann::ordered_json::object()},
                              {"not_identifiable", nlohmann::ordered_json::array()},
                              {"groups", nlohmann::ordered_json::array()}};
  for (const confidence::FittedConstant& c : fit.constants) {
    if (c.identifiable) j["constants"][c.name] = c.value;
    else j["not_identifiable"].push_back(c.name);
  }
  for (const confidence::GroupError& g : fit.groups) j["groups"].push_back({{"group", g.group}, {"points", g.points}, {"error", g.error}});
  return j.dump(2) + "\n";
}

}  // namespace reports
