#pragma once
// Sharded data parallelism: ZeRO (Rajbhandari et al., SC'20, arXiv 1910.02054), as PyTorch's FSDP plans it (arXiv 2304.11277).

#include "search/problem/planner.hpp"

namespace search {

struct FsdpConfig {
  int stage = 3;                 // ZeRO stage 1..3
  std::int64_t micro_batch = 0;  // samples per device; 0: all of them at once
};

[[nodiscard]] Attempt<pcg::Plan> fsdp_plan(const Problem& problem, const FsdpConfig& config);
[[nodiscard]] Planner fsdp_planner();

}  // namespace search
