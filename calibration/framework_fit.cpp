#include "calibration/framework_fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <nlopt.hpp>

#include "base/diagnostics.hpp"
#include "base/worker_pool.hpp"
#include "scenarios/run.hpp"
#include "scenarios/run_notes.hpp"
#include "sim/simulation.hpp"

namespace calibration {
namespace {

// A constant that is so many times larger or smaller must change the mean error by so much, or the points do not identify it.
constexpr double kProbe = 1.1, kIdentifiable = 1e-4;

struct Constant {
  std::string name;
  double start, low, high;  // where a search begins if the profile has nothing, and its bounds
};

// Hosts: from what a bare launch adds nothing to, to what no framework needs.
std::vector<Constant> all_constants() {
  std::vector<Constant> c = {{"host.forward_kernel", 20e-6, 1e-6, 300e-6},  {"host.backward_kernel", 20e-6, 1e-6, 300e-6},
                             {"host.collective", 30e-6, 3e-6, 500e-6},      {"host.launch_jitter", 10e-6, 1e-7, 500e-6},
                             {"host.recomputed_block", 100e-6, 1e-6, 5e-3}, {"host.micro_batch", 500e-6, 1e-6, 20e-3},
                             {"host.iteration", 5e-3, 1e-5, 100e-3}};
  for (const std::string& device : profiles::device_names()) {
    const std::string generation = device.substr(0, device.find('-'));
    if (std::ranges::find(c, "attention." + generation, &Constant::name) != c.end()) continue;
    c.push_back({"attention." + generation, 0.3, 0.05, 0.9});
    c.push_back({"sustained." + generation, 0.9, 0.4, 1});
  }
  return c;
}

// attention.GENERATION and sustained.GENERATION are shares, the others host times.
bool is_share(const std::string& name) { return !name.starts_with("host."); }

double get(const profiles::FrameworkProfile& f, const std::string& name) {
  if (is_share(name)) {
    const auto& shares = name.starts_with("attention.") ? f.attention : f.sustained;
    const auto at = shares.find(name.substr(10));
    return at == shares.end() ? 0 : at->second;
  }
  const profiles::HostCosts& h = f.host;
  return (name == "host.forward_kernel"     ? h.forward_kernel
          : name == "host.backward_kernel"  ? h.backward_kernel
          : name == "host.collective"       ? h.collective
          : name == "host.launch_jitter"    ? h.launch_jitter
          : name == "host.recomputed_block" ? h.recomputed_block
          : name == "host.micro_batch"      ? h.micro_batch
                                            : h.iteration)
      .value();
}

void set(profiles::FrameworkProfile& f, const std::string& name, double value) {
  if (is_share(name)) {
    (name.starts_with("attention.") ? f.attention : f.sustained)[name.substr(10)] = value;
    return;
  }
  profiles::HostCosts& h = f.host;
  base::Seconds& field = name == "host.forward_kernel"     ? h.forward_kernel
                         : name == "host.backward_kernel"  ? h.backward_kernel
                         : name == "host.collective"       ? h.collective
                         : name == "host.launch_jitter"    ? h.launch_jitter
                         : name == "host.recomputed_block" ? h.recomputed_block
                         : name == "host.micro_batch"      ? h.micro_batch
                                                           : h.iteration;
  field = base::Seconds(value);
}

void restore(profiles::FrameworkProfile& f, const FittedConstant& c) {
  if (c.before > 0 || !is_share(c.name)) set(f, c.name, c.before);
  else (c.name.starts_with("attention.") ? f.attention : f.sustained).erase(c.name.substr(10));
}

// A point planned once: simulated for every choice of constants.
struct Prepared {
  pcg::Plan plan;
  topology::Cluster cluster;
  double measured_s = 0;
  std::string group;
};

[[noreturn]] void refuse(const base::Mark& mark, std::string message, std::string hint = {}) {
  throw base::InputError(std::vector<base::Diagnostic>{{mark, "", std::move(message), std::move(hint)}});
}

Prepared prepare(const measurements::Point& p, const std::filesystem::path& file) {
  base::Yaml document = measurements::scenario_of(p);
  if (!file.empty()) {
    base::Yaml framework = base::Yaml::make_map();
    framework.set("file", base::Yaml::make_scalar(std::filesystem::absolute(file).string()));
    document.find("training")->set("framework", std::move(framework));
  }
  const scenarios::Scenario scenario = scenarios::load_scenario(document, {});
  scenarios::Run run = scenarios::run_scenario(scenario, {}).runs.at(0);
  if (!run.made) refuse(p.mark, fmt::format("point {} cannot be planned: {}", p.id, scenarios::run_notes(run).front()));
  return {std::move(*run.made), *scenario.base().cluster, p.measured.value(), p.group};
}

class Fitter {
 public:
  Fitter(const profiles::FrameworkProfile& start, const std::vector<Prepared>& points, const FrameworkFitConfig& config,
         std::vector<Constant> constants)
      : start_(start), points_(points), config_(config), constants_(std::move(constants)) {}

  // Means of |log(predicted / measured)|, each group counting alike, and of |predicted / measured - 1| over some points.
  struct Error {
    double log = 0, relative = 0;
    std::vector<GroupError> groups;  // relative
  };
  [[nodiscard]] Error error_of(const profiles::FrameworkProfile& f, const std::vector<std::size_t>& which) const {
    const auto jobs = static_cast<std::size_t>(std::max(1, config_.jobs));
    const auto work = [&](std::size_t first) {
      nlohmann::json ratios = nlohmann::json::array();
      sim::SimulationConfig with;
      with.framework = f;
      for (std::size_t i = first; i < which.size(); i += jobs) {
        const Prepared& p = points_[which[i]];
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
    const auto n = static_cast<unsigned>(constants_.size());
    std::vector<double> x, low, high;
    for (const Constant& c : constants_) {
      const double at = get(start_, c.name);
      x.push_back(std::log(std::clamp(at > 0 ? at : c.start, c.low, c.high)));
      low.push_back(std::log(c.low));
      high.push_back(std::log(c.high));
    }
    nlopt::opt search(nlopt::LN_SBPLX, n);
    search.set_lower_bounds(low);
    search.set_upper_bounds(high);
    search.set_initial_step(0.4);
    search.set_xtol_rel(1e-3);
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
  [[nodiscard]] FittedConstant probe(const Constant& c, const profiles::FrameworkProfile& profile, double log_error,
                                     const std::vector<std::size_t>& which) const {
    FittedConstant f{.name = c.name, .value = get(profile, c.name), .before = get(start_, c.name)};
    profiles::FrameworkProfile changed = profile;
    set(changed, c.name, std::max(c.low, f.value / kProbe));
    const Error less = error_of(changed, which);
    set(changed, c.name, std::min(c.high, f.value * kProbe));
    const Error more = error_of(changed, which);
    f.error_less = less.relative;
    f.error_more = more.relative;
    f.identifiable = std::max(std::abs(less.log - log_error), std::abs(more.log - log_error)) >= kIdentifiable;
    if (!f.identifiable) f.value = f.before;
    return f;
  }

 private:
  [[nodiscard]] profiles::FrameworkProfile profile_at(const std::vector<double>& x) const {
    profiles::FrameworkProfile f = start_;
    for (std::size_t i = 0; i < x.size(); ++i) set(f, constants_[i].name, std::exp(x[i]));
    return f;
  }

  const profiles::FrameworkProfile& start_;
  const std::vector<Prepared>& points_;
  const FrameworkFitConfig& config_;
  std::vector<Constant> constants_;
};

std::vector<Constant> chosen(const FrameworkFitConfig& config) {
  std::vector<Constant> all = all_constants(), result;
  if (config.constants.empty()) return all;
  for (const std::string& name : config.constants) {
    const auto at = std::ranges::find(all, name, &Constant::name);
    if (at == all.end())
      refuse({}, fmt::format("\"{}\" is no constant of a framework profile", name), base::suggest(name, fittable_constants()));
    result.push_back(*at);
  }
  return result;
}

}  // namespace

std::vector<std::string> fittable_constants() {
  std::vector<std::string> names;
  for (const Constant& c : all_constants()) names.push_back(c.name);
  return names;
}

FrameworkFit fit_framework(const profiles::FrameworkProfile& start, const std::vector<measurements::Point>& points,
                           const FrameworkFitConfig& config) {
  const std::vector<Constant> constants = chosen(config);
  if (points.size() < 10 * constants.size())
    refuse({}, fmt::format("{} points for {} constants", points.size(), constants.size()),
           "give 10 points per constant at least, or fit fewer");
  std::vector<Prepared> prepared;
  for (const measurements::Point& p : points) prepared.push_back(prepare(p, config.file));
  std::vector<std::size_t> all, halves[2];
  for (std::size_t i = 0; i < points.size(); ++i) {
    all.push_back(i);
    halves[i % 2].push_back(i);
  }
  Fitter fitter(start, prepared, config, constants);
  FrameworkFit result;
  result.points = static_cast<int>(points.size());
  result.error_before = fitter.error_of(start, all).relative;
  result.profile = fitter.fit(all);
  const double log_error = fitter.error_of(result.profile, all).log;
  for (const Constant& c : constants) result.constants.push_back(fitter.probe(c, result.profile, log_error, all));
  for (const FittedConstant& c : result.constants)
    if (!c.identifiable) restore(result.profile, c);
  Fitter::Error fitted = fitter.error_of(result.profile, all);
  result.error = fitted.relative;
  result.groups = std::move(fitted.groups);
  for (std::size_t h = 0; h < 2; ++h)
    result.cross_validated += fitter.error_of(fitter.fit(halves[h]), halves[1 - h]).relative * static_cast<double>(halves[1 - h].size()) /
                              static_cast<double>(points.size());
  return result;
}

}  // namespace calibration
