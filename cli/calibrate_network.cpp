// `foreshard calibrate --network`: a network profile fitted to, or held against, measured collectives.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "calibration/network_fit.hpp"
#include "cli/calibrate_network.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace cli {
namespace {

// A file where there is one, else the profile that ships under this name.
profiles::NetworkProfile profile_of(const std::string& word) {
  std::error_code error;
  if (std::filesystem::exists(word, error)) return profiles::load_network_profile(base::read_yaml(word));
  return profiles::network_profile(word);
}

}  // namespace

int calibrate_network(const std::string& word, const profiles::Measurements& rows, const std::string& output, bool compare_only) {
  const profiles::NetworkProfile start = profile_of(word);
  for (const std::string& note : rows.notes) fmt::print(stderr, "note: {}\n", note);
  if (compare_only) {
    fmt::print("{}", calibration::residual_table(calibration::compare_network(start, rows.collectives)));
    return kAnswered;
  }
  const calibration::NetworkFit fit = calibration::fit_network(start, rows.collectives);
  for (const std::string& note : fit.notes) fmt::print(stderr, "note: {}\n", note);
  if (output != "-") fmt::print("{}", calibration::residual_table(fit.residuals));
  if (!output.empty()) write_text(output, profiles::to_yaml(fit.profile));
  return kAnswered;
}

}  // namespace cli
