#pragma once
// Capacity planning answered: every plan on every machine of its question, and what follows from that. Private to this folder.

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/answer/result.hpp"
#include "scenarios/capacity/result.hpp"
#include "scenarios/question/capacity.hpp"

namespace scenarios {

// Returns the number of runs that a question needs: of each plan on each machine.
[[nodiscard]] std::size_t capacity_run_count(const CapacityQuestion& question);
// The run with this number: of plans in turn, on one machine after another. It is called "CANDIDATE x NODES", by the first candidate that
// has the machine.
struct CapacityRun {
  const PlanEntry& entry;
  Variant variant;
  std::string name;
};
[[nodiscard]] CapacityRun capacity_run(const CapacityQuestion& question, std::size_t i);
// Returns the answer, where `runs` has all of them.
[[nodiscard]] CapacityResult capacity_answer(const CapacityQuestion& question, const std::vector<Run>& runs);

}  // namespace scenarios
