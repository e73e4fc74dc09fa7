#pragma once
// A model as it was understood.

#include <span>
#include <string>

#include "pcg/graph/graph.hpp"

namespace reports {

// Parameters leave out those of auxiliary blocks (multi-token prediction), which are given apart; FLOPs do not.
[[nodiscard]] std::string model_text(const pcg::Graph& g, std::span<const std::string> notes = {});
// Returns {"name","operators","parameters","auxiliary_parameters","forward_flops_per_sample","training_flops_per_token","notes":[..],
// "layers":[..]}; the second and fourth number where there is any.
[[nodiscard]] std::string model_json(const pcg::Graph& g, std::span<const std::string> notes = {});

}  // namespace reports
