#pragma once
// Options that planners on a grid share.

#include "pcg/plan/plan.hpp"
#include "search/problem/option.hpp"

namespace search {

// `recompute`: none, selective or full; the index of the word is the value of pcg::Recompute.
[[nodiscard]] Option recompute_option();
// `micro_batch`: 0 stands for "not given". `otherwise`: what is taken then, `help`: what is counted.
[[nodiscard]] Option micro_batch_option(std::string help, std::string otherwise);

}  // namespace search
