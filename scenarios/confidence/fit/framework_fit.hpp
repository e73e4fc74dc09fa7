#pragma once
// Fits the few constants of a framework profile to measured iterations: host times, and the shares of peak or benchmark rate that its
// attention and its products reach. Times of kernels and collectives come from their own tables and stay as they are.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "profiles/framework_profile.hpp"
#include "profiles/measured/points.hpp"

namespace confidence {

// The constants of a framework profile that a fit may set: host times, and shares of a rate by GPU generation.
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

struct FrameworkFitConfig {
  std::filesystem::path file;          // of the start, where it is no profile that ships
  std::vector<std::string> constants;  // names of framework_constants(); empty: all
  int jobs = 1;
  int evaluations = 150;                                            // of the points at most, and of those of each half
  std::function<void(int evaluation, double mean_error)> progress;  // may be empty
};

struct FittedConstant {
  std::string name;
  double value = 0, before = 0;           // seconds or shares; before: 0 if the profile had none
  bool identifiable = true;               // false: the points hardly depend on it, and it is left as it was
  double error_less = 0, error_more = 0;  // mean error with a tenth less and more of it, within its bounds
};

struct GroupError {
  std::string group;
  int points = 0;
  double error = 0;
};

struct FrameworkFit {
  profiles::FrameworkProfile profile;
  std::vector<FittedConstant> constants;
  std::vector<GroupError> groups;  // by name
  int points = 0;
  double error_before = 0, error = 0;  // mean of |predicted / measured - 1| over the points
  double cross_validated = 0;          // the same, each half predicted by constants fitted to the other half
};

// Returns the constants that minimise the mean absolute log ratio of predicted and measured (robust: no square; every group counts alike,
// however many its points) by the subplex method (NLopt's SBPLX), constants in log space. Every constant is fitted to the same points.
// Throws: base::InputError when there are fewer than ten points per constant, a constant is unknown, or a point cannot be planned.
// Cost: a simulation per point and evaluation, twice over (all, and once more for the two halves), and two per point and constant.
[[nodiscard]] FrameworkFit fit_framework(const profiles::FrameworkProfile& start, const std::vector<measured::Point>& points,
                                         const FrameworkFitConfig& config);

// Returns a constant as a profile's file writes it: "74.5 us", "0.943".
[[nodiscard]] std::string constant_text(const std::string& constant, double value);

// Returns `text`, the file that the fit started from, with every constant that the points identify. A map in braces that gets one is
// written out, a key a line. `command` is what is named as the origin. Throws: base::InputError when `framework` itself is in braces.
[[nodiscard]] std::string with_fitted(std::string text, const FrameworkFit& fit, const std::string& command);

}  // namespace confidence
