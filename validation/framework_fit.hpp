#pragma once
// From measured iterations to the few constants of a framework profile: host times, and the
// shares of peak or benchmark rate that its attention and its products reach.
// What kernels and collectives take comes from their own tables and is left as it is.

#include <functional>
#include <string>
#include <vector>

#include "profiles/framework_profile.hpp"
#include "validation/points.hpp"

namespace validation {

struct FrameworkFitConfig {
  std::vector<std::string> constants;  // of fittable_constants(); empty: all
  int jobs = 1;
  int evaluations = 150;                                            // of the whole set of points, at most
  std::function<void(int evaluation, double mean_error)> progress;  // may be empty
};

struct FrameworkFit {
  profiles::FrameworkProfile profile;
  std::vector<std::pair<std::string, double>> values;  // constant and what it was set to, seconds or shares
  int points = 0;
  double error_before = 0, error = 0;  // mean of |predicted / measured - 1| over the points
  double cross_validated = 0;          // the same, each half predicted by constants fitted to the other half
};

// "host.forward_kernel", ..., "attention.a100", "sustained.a100": those that a fit may set.
[[nodiscard]] std::vector<std::string> fittable_constants();

// Minimises the mean absolute log ratio of predicted and measured (robust: no square; every group counts alike, however many its points) by
// the subplex method (NLopt's SBPLX), constants in log space. Points are the same for every framework constant; a point that cannot be
// planned is refused. Throws: base::InputError when there are fewer than ten points per constant, or a point cannot be planned. Cost: a
// simulation per point and evaluation, three times over (all, and each half).
[[nodiscard]] FrameworkFit fit_framework(const profiles::FrameworkProfile& start, const std::vector<Point>& points,
                                         const FrameworkFitConfig& config);

}  // namespace validation
