#pragma once
// Language models of today by the names that people type. Private to pcg/models.

#include <vector>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// Attention never stores scores. No dropout, but for GPT-3.
[[nodiscard]] std::vector<TransformerConfig> language_models();

}  // namespace pcg::models
