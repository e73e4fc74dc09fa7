#pragma once
// One answer: a plan entry on one variant. Private to this folder.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"
#include "scenarios/capacity/result.hpp"
#include "scenarios/question/capacity.hpp"
#include "scenarios/question/variant.hpp"

namespace scenarios {

// Whether a simulation keeps the spans of its tasks, for a trace.
enum class Spans { drop, keep };

// Returns the answer of an entry: its plan for the variant, simulated. `same_plan` is the base's plan on this variant, if it was simulated:
// a plan that is made equal to it is not simulated again, and a planner that searches does not answer with a worse one.
[[nodiscard]] Run answer(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, const Run* same_plan,
                         const RunOptions& options, Spans spans);

// Returns why an entry that follows a rule or a file has no plan for the variant; nullopt: it has one, or it is searched for.
[[nodiscard]] std::optional<std::string> why_no_plan(const PlanEntry& entry, const Variant& variant);

// Returns the answer of the base's plan on a changed cluster. Requires: base.made, and is_same_question(..) of the two variants.
[[nodiscard]] Run answer_with_same_plan(const Run& base, const Variant& variant, const std::string& variant_name);

// Returns the row of an entry without an answer, and why there is none. `ended`: how its worker processes ended.
[[nodiscard]] Run unanswered(const PlanEntry& entry, const Variant& variant, const std::string& variant_name, Status status,
                             const std::string& ended);

// Returns whether a plan for one variant can run on the other as it is: as many GPUs, the same model and training.
[[nodiscard]] bool is_same_question(const Variant& a, const Variant& b);

// Returns the number of runs that a question needs: of each plan on each machine.
[[nodiscard]] std::size_t capacity_run_count(const CapacityQuestion& question);
// The run with this number: plan after plan, on one machine after another. It is called "CANDIDATE x NODES", by the first candidate that
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
