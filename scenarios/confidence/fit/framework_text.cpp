#include "scenarios/confidence/fit/framework_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/yaml/parse.hpp"
#include "profiles/fit/profile_text.hpp"

namespace confidence {
namespace {

std::vector<std::string> comments_on(const FittedConstant& c, const FrameworkFit& fit, const std::string& command) {
  std::string rows;
  for (const GroupError& g : fit.groups)
    rows += fmt::format("{}{} {:.1f} % on {}", rows.empty() ? "" : ", ", g.group, 100 * g.error, g.points);
  return {fmt::format("# {}", command),
          fmt::format("{}mean error {:.1f} % on {} points ({:.1f} % before), each half by the other {:.1f} %: {}", fit::kMore,
                      100 * fit.error, fit.points, 100 * fit.error_before, 100 * fit.cross_validated, rows),
          fmt::format("{}{}; a tenth less: {:.1f} %, a tenth more: {:.1f} %", fit::kMore,
                      c.before > 0 ? "was " + constant_text(c.name, c.before) : "was not set", 100 * c.error_less, 100 * c.error_more)};
}

// Whether all, some or none of the host's times that are not 0 were fitted.
profiles::HostBasis basis_after(const FrameworkFit& fit) {
  const bool all_before = fit.profile.host.basis == profiles::HostBasis::fitted;
  int fitted = 0, others = 0;
  for (const FrameworkConstant& c : framework_constants()) {
    if (!std::holds_alternative<HostTime>(c.field)) continue;
    const auto at = std::ranges::find(fit.constants, c.name, &FittedConstant::name);
    if (at != fit.constants.end() && at->identifiable) ++fitted;
    else if (value_of(c, fit.profile) > 0 && !all_before) ++others;
  }
  if (fitted == 0) return fit.profile.host.basis;
  return others == 0 ? profiles::HostBasis::fitted : profiles::HostBasis::partly;
}

}  // namespace

std::string constant_text(const std::string& constant, double value) {
  return constant.starts_with("host.") ? base::to_text(base::Seconds(value)) : fmt::format("{:.3f}", value);
}

std::string with_fitted(std::string text, const FrameworkFit& fit, const std::string& command) {
  fit::CommentedYaml profile(text, "framework");
  for (const FittedConstant& c : fit.constants) {
    if (!c.identifiable) continue;
    const std::size_t dot = c.name.find('.');
    profile.set(c.name.substr(0, dot), c.name.substr(dot + 1), constant_text(c.name, c.value), comments_on(c, fit, command));
  }
  const profiles::HostBasis basis = basis_after(fit);
  if (basis != fit.profile.host.basis) profile.set("host", "basis", profiles::host_basis_names()[static_cast<std::size_t>(basis)], {});
  text = profile.text();
  (void)profiles::load_framework_profile(base::parse_yaml(text, "<fitted profile>"));
  return text;
}

}  // namespace confidence
