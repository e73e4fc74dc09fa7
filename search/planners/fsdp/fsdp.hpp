#pragma once
// Sharded data parallelism: ZeRO (Rajbhandari et al., SC'20, arXiv 1910.02054), as PyTorch's FSDP plans it (arXiv 2304.11277).

#include "search/problem/planner.hpp"

namespace search {

[[nodiscard]] Planner fsdp_planner();

}  // namespace search
