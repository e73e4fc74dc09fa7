// `foreshard calibrate --network`: a network profile fitted to, or held against, measured collectives.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

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

nlohmann::ordered_json to_json(const std::vector<calibration::NetworkResidual>& residuals) {
  auto list = nlohmann::ordered_json::array();
  for (const calibration::NetworkResidual& r : residuals)
    list.push_back({{"cluster", r.row->cluster},
                    {"nodes", r.row->nodes},
                    {"gpus", r.row->gpus},
                    {"kind", to_text(r.row->kind)},
                    {"bytes", r.row->bytes.value()},
                    {"measured_s", r.row->time.value()},
                    {"predicted_s", r.predicted.value()},
                    {"algorithm", to_text(r.algorithm)},
                    {"protocol", to_text(r.protocol)},
                    {"held_out", r.held_out},
                    {"source", r.row->source}});
  return list;
}

void answer(const NetworkFlags& f, const std::vector<calibration::NetworkResidual>& residuals) {
  if (f.output != "-" && f.json != "-") fmt::print("{}", calibration::residual_table(residuals));
  if (f.json.empty()) return;
  const nlohmann::ordered_json j = {{"foreshard", 1}, {"network", f.network}, {"residuals", to_json(residuals)}};
  write_text(f.json, j.dump(2) + "\n");
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
