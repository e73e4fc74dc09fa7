#pragma once
// Differences of a plan from data parallelism, which cuts every operator by samples over all GPUs and leaves the graph as it is; and from
// another plan of the same model. Start here: differences() and compare_plans(); reports/explanation words what they return.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace search {

// Operators of one kind that run alike.
struct AlikeOperators {
  std::string kind;                     // "conv2d"
  std::string cut;                      // "b 3 x n 2": cut_text()
  std::vector<base::DeviceId> devices;  // ascending, each once
  bool is_new = false;                  // the model has no such operators: rewrites made them
  bool is_reordered = false;            // cut as in data parallelism, over the same GPUs in another order
  std::size_t count = 0;
  std::string first;  // name of the first of them
};

struct Differences {
  std::size_t operators = 0;           // of the plan, that compute
  std::size_t alike = 0;               // of them, those of the model that run as in data parallelism
  std::vector<AlikeOperators> others;  // the most first; of equally many, the first of the graph
  // Operators of the model that rewrites took away: kind and count, by kind.
  std::vector<std::pair<std::string, std::size_t>> gone;
  std::string why_no_replicas;  // why data parallelism cannot run on these GPUs; empty: it can
};

// `model`: the plan's, of any batch; null: not known, and no operator is called new or gone. An operator is the model's where its name,
// what it does and its shapes are there. Micro-batches and pipelines make no difference: an operator runs as in data parallelism where its
// loops are cut as there, on GPUs 0 to gpus - 1 in order.
// Throws: pcg::ShapeError where the model does not take the plan's batch or padding.
// Cost: O(operators x GPUs).
[[nodiscard]] Differences differences(const pcg::Plan& plan, const pcg::Graph* model);

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

// Operators of the plans are the same where name and kind are.
// Cost: O(operators x GPUs).
[[nodiscard]] PlanComparison compare_plans(const pcg::Plan& first, const pcg::Plan& second);

}  // namespace search
