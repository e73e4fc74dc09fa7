#pragma once
// Which plan wins: how well forecasts choose among plans that answer the same question (one model, batch and machine). A plan that was
// measured several times counts once, with the median.

#include <vector>

#include "scenarios/confidence/assessment.hpp"

namespace confidence {

// Returns how much runs of one plan scatter; nullopt where fewer than kLeastRepeats were measured again. Cost: O(n log n).
[[nodiscard]] std::optional<Repeats> repeats_of(const std::vector<Item>& items, const std::vector<std::size_t>& members);

// Returns the figures over the questions for which `members` have two plans or more; nullopt if there is none. Items without a forecast
// or without facts take no part. Cost: O(n log n + pairs of plans of one question).
[[nodiscard]] std::optional<Choices> choices_of(const std::vector<Item>& items, const std::vector<std::size_t>& members,
                                                const std::optional<Repeats>& repeats);

}  // namespace confidence
