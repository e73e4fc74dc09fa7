#pragma once
// Vision transformers whose attention stays within windows: Swin (Liu et al., "Swin Transformer: Hierarchical Vision Transformer using
// Shifted Windows", ICCV'21, arXiv 2103.14030, section 3). Private to pcg/models.

#include <cstdint>
#include <vector>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// Four-pixel patches; a stage behind the first has half as many patches each way, twice the width and twice the heads. `layers` describes
// those of the first stage; its number of layers, sequence_length and vocab are not used.
struct ShiftedWindowConfig {
  TransformerConfig layers;
  std::vector<std::int64_t> depths = {2, 2, 6, 2};  // layers of each stage
  std::int64_t image_size = 224, patch_size = 4, window = 7, channels = 3;
  std::int64_t classes = 1000;
};

// Inputs "images" [batch, channels, image_size, image_size] and "labels" [batch]. The shift is not there as an operator: it is part of the
// copies into windows and back, as in the authors' fused kernel (microsoft/Swin-Transformer, kernels/window_process); nor is the mask that
// parts the two ends of an image in a shifted window, which is added to scores.
// Requires: patches of each stage divide into windows, or are one.
[[nodiscard]] Graph shifted_window_transformer(const ShiftedWindowConfig& config, std::int64_t batch);

}  // namespace pcg::models
