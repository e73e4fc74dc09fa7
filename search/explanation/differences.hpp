#pragma once
// What a plan does otherwise than data parallelism, which cuts every operator by samples over all GPUs and leaves the graph as it is.

#include <cstddef>
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
// what it does and its shapes are there. Micro-batches and pipelines are looked through: an operator runs as in data parallelism where its
// loops are cut as there, on GPUs 0 to gpus - 1 in order. Throws: pcg::ShapeError where the model does not take the plan's batch or
// padding. Cost: O(operators x GPUs).
[[nodiscard]] Differences differences(const pcg::Plan& plan, const pcg::Graph* model);

}  // namespace search
