#include <fmt/core.h>

#include <filesystem>

#include "base/yaml/parse.hpp"
#include "calibration/network_fit.hpp"
#include "calibration/text/network_text.hpp"
#include "cli/commands/calibrate_network.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "reports/calibration/network.hpp"

namespace cli {
namespace {

// The file that is given, else what is at the output, so that one command goes on where another ended, else what ships.
std::string network_text(const NetworkFlags& f) {
  std::error_code error;
  if (std::filesystem::exists(f.network, error)) return read_text(f.network);
  const bool fits = !f.compare_only && !f.output.empty() && f.output != "-";
  if (fits && std::filesystem::exists(f.output, error)) return read_text(f.output);
  return std::string(profiles::network_text(f.network));
}

void answer(const NetworkFlags& f, const std::vector<calibration::NetworkResidual>& residuals) {
  if (f.output != "-" && f.json != "-") fmt::print("{}", reports::residuals_text(residuals));
  if (!f.json.empty()) write_text(f.json, reports::residuals_json(f.network, residuals));
}

}  // namespace

int calibrate_network(const NetworkFlags& f, const measurements::Measurements& rows) {
  const std::string before = network_text(f);
  const profiles::NetworkProfile start = profiles::load_network_profile(base::parse_yaml(before, f.network));
  for (const std::string& note : rows.notes) fmt::print(stderr, "note: {}\n", note);
  if (f.compare_only) {
    answer(f, calibration::compare_network(start, rows.collectives));
    return kAnswered;
  }
  const calibration::NetworkFit fit = calibration::fit_network(start, rows.collectives);
  for (const std::string& note : fit.notes) fmt::print(stderr, "note: {}\n", note);
  answer(f, fit.residuals);
  if (!f.output.empty()) write_text(f.output, calibration::with_fitted(before, fit.profile));
  return kAnswered;
}

}  // namespace cli
