#pragma once
// Fits profiles::AttentionModel to measured kernels of one pass.

#include <span>

#include "profiles/models/attention_model.hpp"

namespace fit {

struct AttentionRow {
  double peak = 1;  // FLOP/s that the data sheet of the row's device promises
  pcg::Kernel kernel;
  double seconds = 0;
};

// Returns the model with the least robust error in the logarithm of time. Requires: rows are not empty.
[[nodiscard]] profiles::AttentionModel fit_attention(std::span<const AttentionRow> rows);
[[nodiscard]] double predict(const profiles::AttentionModel& model, const AttentionRow& row);

}  // namespace fit
