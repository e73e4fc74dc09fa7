#pragma once
// How much each part of a cluster matters: elasticities of the iteration time, by central differences at the base's plan, and what is won
// where the part is twice as good.
//
// The elasticity of T to x is d ln T / d ln x: -0.3 for a bandwidth says that 1 % more of it takes 0.3 % off the time. An iteration that
// waits for rates and latencies alone takes 1/s of its time on a cluster that is s times as fast in everything, so by Euler's theorem on
// homogeneous functions the elasticities of all rates, less those of all latencies, add up to -1. They stay above that by the share of the
// time that no key of the cluster says, such as the shortest time of a kernel or the overheads of a communication library.

#include <vector>

#include "scenarios/answer/result.hpp"
#include "scenarios/question/parameters.hpp"

namespace scenarios {

// Returns ln(up / down) / (2 ln kProbeStep): by central differences in the logarithm. Requires: times above 0.
[[nodiscard]] double elasticity(base::Seconds down, base::Seconds up);

// Puts the largest first, in the order in which they are among equals.
void rank(std::vector<Sensitivity>& all);

}  // namespace scenarios
