#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "base/yaml/parse.hpp"
#include "cli/commands/calibrate_network.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "profiles/fit/network_fit.hpp"
#include "profiles/fit/profile_text.hpp"
#include "reports/calibration/network.hpp"

namespace cli {
namespace {

// Where a fit starts.
struct NetworkStart {
  std::string text;
  profiles::NetworkProfile profile;
};

NetworkStart network_start_from(std::string text, const std::string& file) {
  profiles::NetworkProfile profile = profiles::load_network_profile(base::parse_yaml(text, file));
  return {std::move(text), std::move(profile)};
}

// The file that is given, else what is at the output, so that one command goes on where another ended, else what ships.
NetworkStart network_start_of(const NetworkFlags& f) {
  std::error_code error;
  if (std::filesystem::exists(f.network, error)) return network_start_from(read_start(f.network, f.output), f.network);
  NetworkStart shipped = network_start_from(std::string(profiles::network_text(f.network)), f.network);
  const bool goes_on = !f.compare_only && !f.output.empty() && f.output != "-" && std::filesystem::exists(f.output, error);
  if (!goes_on) return shipped;
  NetworkStart there = network_start_from(read_to_renew(f.output), f.output);
  if (there.profile.name != f.network)
    throw base::InputError(std::vector<base::Diagnostic>{{{},
                                                          "--output",
                                                          fmt::format("{} holds the network profile {}", f.output, there.profile.name),
                                                          fmt::format("name another file, or start from it: --network {}", f.output)}});
  return there;
}

void answer(const NetworkFlags& f, const std::vector<fit::NetworkResidual>& residuals) {
  if (f.verbosity == base::Verbosity::usual && f.output != "-" && f.json != "-") print(reports::residuals_text(residuals));
  if (!f.json.empty()) write_text(f.json, reports::residuals_json(f.network, residuals));
}

}  // namespace

int calibrate_network(const NetworkFlags& f, const measured::Measurements& rows) {
  const NetworkStart start = network_start_of(f);
  for (const std::string& note : rows.notes) tell(fmt::format("note: {}\n", note));
  if (f.compare_only) {
    answer(f, fit::compare_network(start.profile, rows.collectives));
    return kAnswered;
  }
  const fit::NetworkFit fit = fit::fit_network(start.profile, rows.collectives);
  for (const std::string& note : fit.notes) tell(fmt::format("note: {}\n", note));
  answer(f, fit.residuals);
  if (!f.output.empty()) write_text(f.output, fit::with_fitted(start.text, fit.profile));
  return kAnswered;
}

}  // namespace cli
