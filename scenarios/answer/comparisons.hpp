#pragma once
// Answers held against each other: how many times as quick one is as another, with its interval, and how surely the quickest plan is the
// quickest. Private to this folder, but for tests. The statistics are scenarios/intervals/pairs, what is compared forecast_facts.hpp.

#include <optional>

#include "scenarios/answer/result.hpp"
#include "scenarios/intervals/pairs.hpp"

namespace scenarios {

// Returns ln(high / low) / 2 of a run's interval, 0 where it has none.
[[nodiscard]] double own_spread(const Run& run);

// Returns how many times as many tokens, or samples where one of the two has no tokens, a run trains in a second: throughput, not time, as
// a variant may have another batch. nullopt: one of the two has no time.
[[nodiscard]] std::optional<Speedup> speedup_of(const PairModel& model, const Run& run, const Run& against);

// Returns the quickest plans of the base that fit, and how surely they are; nullopt: fewer than two fit.
[[nodiscard]] std::optional<Favourite> favourite_of(const PairModel& model, const ScenarioResult& result);

// Sets what compares the runs of an answer with each other: Run::against_base and against_best of what-ifs, ScenarioResult::favourite,
// CapacityEntry::speedup.
void add_comparisons(const PairModel& model, ScenarioResult& result);

}  // namespace scenarios
