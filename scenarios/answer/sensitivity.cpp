#include "scenarios/answer/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace scenarios {

double elasticity(base::Seconds down, base::Seconds up) { return std::log(up / down) / (2 * std::log(kProbeStep)); }

void rank(std::vector<Sensitivity>& all) {
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Sensitivity& s) { return std::abs(s.elasticity); });
}

}  // namespace scenarios
