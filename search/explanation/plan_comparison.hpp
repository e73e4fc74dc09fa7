#pragma once
// Two plans of one model against each other: what differs in their settings, and how each cuts and places the operators.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace search {

// A key of a plan file outside of its graph: "memory.zero". nullopt: the file leaves it at its default.
struct SettingDifference {
  std::string key;
  std::optional<std::string> first, second;
};

// How one plan runs an operator.
struct PlacedCut {
  std::string cut;                      // "b 4 x n 2": cut_text()
  std::vector<base::DeviceId> devices;  // ascending, each once
  bool operator==(const PlacedCut&) const = default;
};

// Operators of one kind that each of the plans runs alike. nullopt: a rewritten graph has no operator of that name and kind.
struct OperatorDifference {
  std::string kind;  // "linear"
  std::optional<PlacedCut> first, second;
  bool is_reordered = false;  // the same cut over the same GPUs in another order
  std::size_t count = 0;
  std::string name;  // of the first of them
};

struct PlanComparison {
  std::vector<SettingDifference> settings;  // in the order of the file
  std::size_t operators = 0;                // that compute, of both plans together
  std::size_t alike = 0;                    // of them, those that both cut alike over the same GPUs in the same order
  std::vector<OperatorDifference> others;   // the most first; of equally many, the first of the first plan's graph
};

// Whether the plans are of one model, as far as their `model:` sections say.
[[nodiscard]] bool are_of_one_model(const pcg::Plan& first, const pcg::Plan& second);

// Operators of the plans are the same where name and kind are. Cost: O(operators x GPUs).
[[nodiscard]] PlanComparison compare_plans(const pcg::Plan& first, const pcg::Plan& second);

}  // namespace search
