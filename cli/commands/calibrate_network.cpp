#include <fmt/core.h>

#include <filesystem>

#include "base/yaml/parse.hpp"
#include "calibration/network_fit.hpp"
#include "cli/commands/calibrate_network.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "reports/calibration/network.hpp"

namespace cli {
namespace {

// A file where there is one, else the profile that ships under this name.
profiles::NetworkProfile profile_of(const std::string& word) {
  std::error_code error;
  if (std::filesystem::exists(word, error)) return profiles::load_network_profile(base::read_yaml(word));
  return profiles::network_profile(word);
}

void answer(const NetworkFlags& f, const std::vector<calibration::NetworkResidual>& residuals) {
  if (f.output != "-" && f.json != "-") fmt::print("{}", reports::residuals_text(residuals));
  if (!f.json.empty()) write_text(f.json, reports::residuals_json(f.network, residuals));
}

}  // namespace

int calibrate_network(const NetworkFlags& f, const measurements::Measurements& rows) {
  const profiles::NetworkProfile start = profile_of(f.network);
  for (const std::string& note : rows.notes) fmt::print(stderr, "note: {}\n", note);
  if (f.compare_only) {
    answer(f, calibration::compare_network(start, rows.collectives));
    return kAnswered;
  }
  const calibration::NetworkFit fit = calibration::fit_network(start, rows.collectives);
  for (const std::string& note : fit.notes) fmt::print(stderr, "note: {}\n", note);
  answer(f, fit.residuals);
  if (!f.output.empty()) write_text(f.output, profiles::to_yaml(fit.profile));
  return kAnswered;
}

}  // namespace cli
