#include "scenarios/confidence/fit/framework_fit.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>
#include <set>

#include "base/diagnostics.hpp"
#include "base/processes/worker_pool.hpp"
#include "base/yaml/parse.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/fit/profile_text.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"
#include "sim/simulation.hpp"

namespace confidence {
namespace {

using profiles::FrameworkProfile;
using profiles::HostCosts;

// A constant that is kProbe times larger or smaller must change the mean error by kIdentifiable, or the points do not identify it.
constexpr double kProbe = 1.1, kIdentifiable = 1e-4;

// A point planned once: simulated for every choice of constants.
struct Prepared {
  pcg::Plan plan;
  topology::Cluster cluster;
  profiles::FrameworkProfile framework;  // with what the point says of it
  double measured_s = 0;
  std::string group;
};

Prepared prepare(const measured::Point& p, const std::filesystem::path& file) {
  base::Yaml document = measured::scenario_of(p);
  if (!file.empty()) {
    base::Yaml& training = *document.find("training");
    const base::Yaml* said = training.find("framework");
    base::Yaml framework = said != nullptr && said->is_map() ? *said : base::Yaml::make_map();
    framework.erase("name");
    framework.set("file", base::Yaml::make_scalar(std::filesystem::absolute(file).string()));
    training.set("framework", std::move(framework));
  }
  const scenarios::Scenario scenario = scenarios::load_scenario(document, {});
  scenarios::Run run = scenarios::run_scenario(scenario, {}).runs.at(0);
  if (!run.made) base::refuse(p.mark, "", fmt::format("point {} cannot be planned: {}", p.id, scenarios::run_notes(run).front().text), "");
  return {*run.made, *scenario.base().cluster, scenario.base().framework.profile, p.measured.value().value(), p.group};
}

class FrameworkFitter {
 public:
  FrameworkFitter(const profiles::FrameworkProfile& start, const std::vector<Prepared>& points, const FrameworkFitConfig& config,
                  std::vector<FrameworkConstant> constants)
      : start_(start), points_(points), config_(config), constants_(std::move(constants)) {}

  // Means of |log(predicted / measured)|, each group counting alike, and of |predicted / measured - 1| over some points.
  struct Error {
    double log = 0, relative = 0;
    std::vector<GroupError> groups;  // relative
  };
  // Points are dealt out to workers round-robin, so that each gets its share of the slow ones.
  [[nodiscard]] Error error_of(const profiles::FrameworkProfile& f, const std::vector<std::size_t>& which) const {
    const auto jobs = static_cast<std::size_t>(std::max(1, config_.jobs));
    const auto work = [&](std::size_t first) {
      nlohmann::json ratios = nlohmann::json::array();
      for (std::size_t i = first; i < which.size(); i += jobs) {
        const Prepared& p = points_[which[i]];
        // A point's own words about the framework stay; only what is being fitted is set.
        profiles::FrameworkProfile framework = p.framework;
        for (const FrameworkConstant& c : constants_) framework = with_value(std::move(framework), c, value_of(c, f));
        const sim::SimulationConfig with{.framework = std::move(framework)};
        ratios.push_back({p.group, sim::simulate_plan(p.plan, p.cluster, with).iteration_time.value() / p.measured_s});
      }
      return ratios;
    };
    Error e;
    struct Sum {
      double log = 0, relative = 0;
      int points = 0;
    };
    std::map<std::string, Sum> groups;
    for (const nlohmann::json& ratios : base::run_workers(jobs, static_cast<int>(jobs), work, [](std::size_t) {})) {
      for (const auto& [group, r] : ratios.get<std::vector<std::pair<std::string, double>>>()) {
        Sum& sum = groups[group];
        sum.log += std::abs(std::log(r));
        sum.relative += std::abs(r - 1);
        ++sum.points;
        e.relative += std::abs(r - 1) / static_cast<double>(which.size());
      }
    }
    for (const auto& [group, sum] : groups) {
      e.log += sum.log / sum.points / static_cast<double>(groups.size());
      e.groups.push_back({group, sum.points, sum.relative / sum.points});
    }
    return e;
  }

  [[nodiscard]] profiles::FrameworkProfile fit(const std::vector<std::size_t>& which) {
    std::vector<double> x, low, high;
    for (const FrameworkConstant& c : constants_) {
      const double at = value_of(c, start_);
      x.push_back(std::log(std::clamp(at > 0 ? at : c.start, c.low, c.high)));
      low.push_back(std::log(c.low));
      high.push_back(std::log(c.high));
    }
    // Subplex (Rowan 1990): the objective is a sum of absolute values, which has kinks, and jumps where an algorithm switches.
    nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(constants_.size()));
    search.set_lower_bounds(low);
    search.set_upper_bounds(high);
    search.set_initial_step(0.4);  // of a logarithm: half as much again, which crosses the uncertainty of a guessed host time
    search.set_xtol_rel(1e-3);     // a tenth of a per cent, far below the errors that are left
    search.set_maxeval(config_.evaluations);
    int evaluation = 0;
    std::function<double(const std::vector<double>&)> objective = [&](const std::vector<double>& at) {
      const double e = error_of(profile_at(at), which).log;
      if (config_.progress) config_.progress(++evaluation, e);
      return e;
    };
    search.set_min_objective([](const std::vector<double>& at, std::vector<double>&,
                                void* data) { return (*static_cast<std::function<double(const std::vector<double>&)>*>(data))(at); },
                             &objective);
    double least = 0;
    search.optimize(x, least);
    return profile_at(x);
  }

  // How much depends on a constant of a profile whose error is `log_error`.
  [[nodiscard]] FittedConstant probe(const FrameworkConstant& c, const profiles::FrameworkProfile& profile, double log_error,
                                     const std::vector<std::size_t>& which) const {
    FittedConstant f{.name = c.name, .value = value_of(c, profile), .before = value_of(c, start_)};
    const Error less = error_of(with_value(profile, c, std::max(c.low, f.value / kProbe)), which);
    const Error more = error_of(with_value(profile, c, std::min(c.high, f.value * kProbe)), which);
    f.error_less = less.relative;
    f.error_more = more.relative;
    f.identifiable = std::max(std::abs(less.log - log_error), std::abs(more.log - log_error)) >= kIdentifiable;
    if (!f.identifiable) f.value = f.before;
    return f;
  }

 private:
  [[nodiscard]] profiles::FrameworkProfile profile_at(const std::vector<double>& x) const {
    profiles::FrameworkProfile f = start_;
    for (std::size_t i = 0; i < x.size(); ++i) f = with_value(std::move(f), constants_[i], std::exp(x[i]));
    return f;
  }

  const profiles::FrameworkProfile& start_;
  const std::vector<Prepared>& points_;
  const FrameworkFitConfig& config_;
  std::vector<FrameworkConstant> constants_;
};

std::vector<FrameworkConstant> chosen(const FrameworkFitConfig& config) {
  std::vector<FrameworkConstant> all = framework_constants(), result;
  if (config.constants.empty()) return all;
  std::vector<std::string> names;
  for (const FrameworkConstant& c : all) names.push_back(c.name);
  for (const std::string& name : config.constants) {
    const auto at = std::ranges::find(all, name, &FrameworkConstant::name);
    if (at == all.end()) base::refuse("", fmt::format("\"{}\" is no constant of a framework profile", name), base::suggest(name, names));
    result.push_back(*at);
  }
  return result;
}

// Bounds of host times: from times that add nothing to a bare launch up to times that no framework needs.
std::vector<FrameworkConstant> host_times() {
  return {{"host.forward_kernel", 20e-6, 1e-6, 300e-6, &HostCosts::forward_kernel, {}},
          {"host.backward_kernel", 20e-6, 1e-6, 300e-6, &HostCosts::backward_kernel, {}},
          {"host.collective", 30e-6, 3e-6, 500e-6, &HostCosts::collective, {}},
          {"host.launch_jitter", 10e-6, 1e-7, 500e-6, &HostCosts::launch_jitter, {}},
          {"host.recomputed_block", 100e-6, 1e-6, 5e-3, &HostCosts::recomputed_block, {}},
          {"host.unit", 500e-6, 1e-6, 10e-3, &HostCosts::unit, {}},
          {"host.attention_kernel", 40e-6, 1e-6, 300e-6, &HostCosts::attention_kernel, {}},
          {"host.exchange", 500e-6, 1e-6, 20e-3, &HostCosts::exchange, {}},
          {"host.expert", 10e-6, 1e-7, 500e-6, &HostCosts::expert, {}},
          {"host.micro_batch", 500e-6, 1e-6, 20e-3, &HostCosts::micro_batch, {}},
          {"host.iteration", 5e-3, 1e-5, 100e-3, &HostCosts::iteration, {}}};
}

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
  return fitted == 0 ? fit.profile.host.basis : others == 0 ? profiles::HostBasis::fitted : profiles::HostBasis::partly;
}

}  // namespace

FrameworkFit fit_framework(const profiles::FrameworkProfile& start, const std::vector<measured::Point>& points,
                           const FrameworkFitConfig& config) {
  const std::vector<FrameworkConstant> constants = chosen(config);
  if (points.size() < 10 * constants.size())
    base::refuse("", fmt::format("{} points for {} constants", points.size(), constants.size()),
                 "give 10 points per constant at least, or fit fewer");
  std::vector<Prepared> prepared;
  for (const measured::Point& p : points) prepared.push_back(prepare(p, config.file));
  std::vector<std::size_t> all, halves[2];
  for (std::size_t i = 0; i < points.size(); ++i) {  // every other point: tables are sorted, so both halves cover all sizes
    all.push_back(i);
    halves[i % 2].push_back(i);
  }
  FrameworkFitter fitter(start, prepared, config, constants);
  FrameworkFit result;
  result.points = static_cast<int>(points.size());
  result.error_before = fitter.error_of(start, all).relative;
  result.profile = fitter.fit(all);
  const double log_error = fitter.error_of(result.profile, all).log;
  for (const FrameworkConstant& c : constants) result.constants.push_back(fitter.probe(c, result.profile, log_error, all));
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (!result.constants[i].identifiable) result.profile = with_value(std::move(result.profile), constants[i], result.constants[i].before);
  FrameworkFitter::Error fitted = fitter.error_of(result.profile, all);
  result.error = fitted.relative;
  result.groups = std::move(fitted.groups);
  for (std::size_t h = 0; h < 2; ++h)
    result.cross_validated += fitter.error_of(fitter.fit(halves[h]), halves[1 - h]).relative * static_cast<double>(halves[1 - h].size()) /
                              static_cast<double>(points.size());
  return result;
}

std::vector<FrameworkConstant> framework_constants() {
  std::vector<FrameworkConstant> constants = host_times();
  std::set<std::string> seen;
  for (const std::string& device : profiles::device_names()) {
    const std::string generation = profiles::generation_of(device);
    if (!seen.insert(generation).second) continue;
    constants.push_back({"attention." + generation, 0.3, 0.05, 0.9, &FrameworkProfile::attention, generation});
    constants.push_back({"attention_gradient." + generation, 0.3, 0.05, 0.9, &FrameworkProfile::attention_gradient, generation});
    constants.push_back({"sustained." + generation, 0.9, 0.4, 1, &FrameworkProfile::sustained, generation});
  }
  return constants;
}

double value_of(const FrameworkConstant& c, const FrameworkProfile& f) {
  if (const HostTime* time = std::get_if<HostTime>(&c.field)) return (f.host.**time).value();
  const auto& shares = f.*std::get<Shares>(c.field);
  const auto at = shares.find(c.generation);
  return at == shares.end() ? 0 : at->second;
}

FrameworkProfile with_value(FrameworkProfile f, const FrameworkConstant& c, double value) {
  if (const HostTime* time = std::get_if<HostTime>(&c.field)) f.host.** time = base::Seconds(value);
  else if (value > 0) (f.*std::get<Shares>(c.field))[c.generation] = value;
  else (f.*std::get<Shares>(c.field)).erase(c.generation);
  return f;
}

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
  if (basis != fit.profile.host.basis) profile.set("host", "basis", profiles::name_of(basis), {});
  text = profile.text();
  (void)profiles::load_framework_profile(base::parse_yaml(text, "<fitted profile>"));
  return text;
}

}  // namespace confidence
