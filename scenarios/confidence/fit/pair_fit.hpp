#pragma once
// Makes the model of comparisons (scenarios/intervals/pairs.hpp) from residuals: pairs of iterations of one publication and one training
// that differ in exactly one kind of thing, and how far the ratio of their forecasts is from the ratio that was measured.
// Start here: fit_pairs() gives the model, left_out_pairs() its coverage on publications that it was made without.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/confidence/fit/interval_fit.hpp"
#include "scenarios/intervals/pairs.hpp"

namespace confidence {

// Returns who published a figure, of a point's source: "mlcommons/training_results" of "mlcommons/training_results_v4.1@1a2b3c4:gpt3.csv".
// What follows the first "@", ":" or ",", and the number of a round, name places within it.
[[nodiscard]] std::string publication_of(const std::string& source);

// With fewer pairs, or of fewer publications, a kind has no spread: nothing would test it.
inline constexpr std::size_t kLeastPairs = 20, kLeastPublications = 2;

// Returns the model. Every question (what a pair has in common) counts alike within its publication, however many pairs it has;
// publications weigh as the root of their number of pairs.
// Spread of a kind: the quantile at `level` of |ln(measured ratio / predicted ratio)|, scaled; or, where that would hold less of
//   publications that were left out, on average over these, so much more that it holds `level`.
// Growth: of a few steps the one with the least interval score on publications that were left out.
// Deterministic. Cost: O(kinds x publications^2 x pairs).
[[nodiscard]] scenarios::PairModel fit_pairs(std::span<const Residual> residuals, double level = 0.9);

// The pairs of a kind, and how spreads that were fitted to all other publications hold each one's: means over publications.
struct LeftOutPairs {
  scenarios::Change kind = scenarios::Change::plan;
  std::size_t pairs = 0, publications = 0;
  std::optional<double> inside;  // share; nullopt: too few remain when one is left out
  std::optional<double> width;   // (high - low) / ratio
};
// Returns one for each kind that has pairs. Cost: as fit_pairs().
[[nodiscard]] std::vector<LeftOutPairs> left_out_pairs(std::span<const Residual> residuals, double level = 0.9);

}  // namespace confidence
