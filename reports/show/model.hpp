#pragma once
// A model as it was understood.

#include <string>

#include "pcg/graph/graph.hpp"

namespace reports {

[[nodiscard]] std::string model_text(const pcg::Graph& g);
// Returns {"name","operators","parameters","forward_flops_per_sample","layers":[..]}.
[[nodiscard]] std::string model_json(const pcg::Graph& g);

}  // namespace reports
