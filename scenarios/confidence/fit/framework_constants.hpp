#pragma once
// The constants of a framework profile that a fit may set: host times, and shares of a rate by GPU generation.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "profiles/framework_profile.hpp"

namespace confidence {

using HostTime = base::Seconds profiles::HostCosts::*;
using Shares = std::map<std::string, double> profiles::FrameworkProfile::*;

struct FrameworkConstant {
  std::string name;         // "host.forward_kernel", "attention.a100": its place in the profile's file
  double start, low, high;  // seconds or shares: where a search begins if the profile has no value, and its bounds
  std::variant<HostTime, Shares> field;
  std::string generation;  // of a share
};

// Returns all constants. A generation is a device profile's name up to its first '-'.
[[nodiscard]] std::vector<FrameworkConstant> framework_constants();
// Returns seconds or a share; 0: the profile has none.
[[nodiscard]] double value_of(const FrameworkConstant& c, const profiles::FrameworkProfile& f);
// Returns `f` with another value. A share of 0 is one that the profile does not have.
[[nodiscard]] profiles::FrameworkProfile with_value(profiles::FrameworkProfile f, const FrameworkConstant& c, double value);

}  // namespace confidence
