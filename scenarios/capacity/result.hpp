#pragma once
// The whole answer of capacity planning as a value: what reports write.

#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "scenarios/capacity/choices.hpp"

namespace scenarios {

struct CapacityResult {
  CapacityTerms terms;
  std::vector<CapacityEntry> entries;  // by candidate, then nodes, then plan, as the scenario has them
  Choices choices;
  std::vector<base::Note> notes;  // about all entries: what was assumed where the scenario does not say, and what is not counted
};

// Pure: the same terms and cases give the same answer.
[[nodiscard]] CapacityResult capacity_result(const CapacityTerms& terms, std::span<const CapacityCase> cases);

}  // namespace scenarios
