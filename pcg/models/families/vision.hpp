#pragma once
// Vision transformers described by numbers. Private to pcg/models.

#include <cstdint>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// ViT (Dosovitskiy et al., arXiv 2010.11929): a class token and one token per patch. layers.sequence_length and vocab are not used.
struct VisionConfig {
  TransformerConfig layers;
  std::int64_t image_size = 224, patch_size = 16, channels = 3;
  std::int64_t classes = 1000;  // 0: no classifier
};

// Inputs "images" [batch, channels, image_size, image_size] and, with classes, "labels" [batch]. Requires:
// image_size >= patch_size.
[[nodiscard]] Graph vision_transformer(const VisionConfig& config, std::int64_t batch);

}  // namespace pcg::models
