#pragma once
// Fits the few constants of a framework profile to measured iterations: host times, and the shares of peak or benchmark rate that its
// attention and its products reach. Times of kernels and collectives come from their own tables and stay as they are.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "profiles/framework_profile.hpp"
#include "profiles/measured/points.hpp"

namespace confidence {

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

}  // namespace confidence
