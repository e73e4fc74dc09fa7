#include "scenarios/confidence/fit/framework_fit.hpp"

#include <set>

#include "profiles/device_profile.hpp"

namespace confidence {
namespace {

using profiles::FrameworkProfile;
using profiles::HostCosts;

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

}  // namespace

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

}  // namespace confidence
