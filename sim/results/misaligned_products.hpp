#pragma once
// Products whose matrices have rows of no whole multiple of 16 bytes, which tensor cores take far slower than others: a vocabulary that
// is not padded, as a rule. No profile knows how slow, so a forecast says that they are there.

#include <optional>
#include <string>

#include "pcg/plan/plan.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Returns those of the linear layers of a plan in half precision or tf32, by the FLOPs that a device computes in one pass.
struct MisalignedProducts {
  double share = 0;          // of the layers with such rows
  std::string layer;         // of these the one with most FLOPs
  std::int64_t numbers = 0;  // the length of its row
  int multiple = 8;          // of what it would have to be one
};

// Returns nullopt where no layer has such rows. Cost: O(nodes).
[[nodiscard]] std::optional<MisalignedProducts> misaligned_products(const pcg::Plan& plan, const FlowGraph& flow);

}  // namespace sim
