#pragma once
// Holds interval models against residuals that they were made without: the honest figures of intervals.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "scenarios/confidence/fit/interval_fit.hpp"

namespace confidence {

// Of intervals for points that the whole fit, its constants too, had not seen: means over sources of the means over their points.
struct UnseenFigures {
  double coverage = 0;  // share inside
  double width = 0;     // (high - low) / predicted
  double score = 0;     // interval_score
  std::map<std::string, double> coverage_by_source;
};

// nullopt: too few residuals remain, or there is nothing else to make intervals from.
struct UnseenCoverage {
  std::optional<UnseenFigures> half;     // split-half: a random half of every source fits, the other is tested; mean of 5 splits
  std::optional<UnseenFigures> source;   // leave-one-group-out: all other sources fit
  std::optional<UnseenFigures> machine;  // all other GPU generations fit
  std::optional<UnseenFigures> family;   // all other families of models fit
};
// Cost: a fit per source, machine and family.
[[nodiscard]] UnseenCoverage unseen_coverage(std::span<const Residual> residuals, std::uint64_t seed, double level = 0.9);

}  // namespace confidence
