#pragma once
// Any model that is described by a few numbers. Private to pcg/models.

#include <cstdint>
#include <variant>

#include "pcg/models/families/encoder_decoder.hpp"
#include "pcg/models/families/shifted_windows.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/families/vision.hpp"

namespace pcg::models {

using ModelConfig = std::variant<TransformerConfig, EncoderDecoderConfig, VisionConfig, ShiftedWindowConfig>;

[[nodiscard]] Graph build(const ModelConfig& config, std::int64_t batch);
// The part that all have: attention, dropout, sizes of a layer.
[[nodiscard]] TransformerConfig& layers_of(ModelConfig& config);

}  // namespace pcg::models
