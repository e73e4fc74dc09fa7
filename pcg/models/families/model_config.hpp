#pragma once
// The builtin models, and any model that is described by a few numbers. Private to pcg/models.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// T5 (Raffel et al., arXiv 1910.10683): layers.layers encoder layers; one table of relative positions per stack.
struct EncoderDecoderConfig {
  TransformerConfig layers;
  std::int64_t decoder_layers = 1;
  std::int64_t position_buckets = 32;
};

// Inputs "tokens", "decoder_tokens" and, with a head, "labels" [batch, sequence_length].
[[nodiscard]] Graph encoder_decoder(const EncoderDecoderConfig& config, std::int64_t batch);

// Swin (Liu et al., "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", ICCV'21, arXiv 2103.14030, section 3).
// Four-pixel patches; a stage after the first has half as many patches each way, twice the width and twice the heads. `layers` describes
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

// ViT (Dosovitskiy et al., arXiv 2010.11929): a class token and one token per patch. layers.sequence_length and vocab are not used.
struct VisionConfig {
  TransformerConfig layers;
  std::int64_t image_size = 224, patch_size = 16, channels = 3;
  std::int64_t classes = 1000;  // 0: no classifier
};

// Inputs "images" [batch, channels, image_size, image_size] and, with classes, "labels" [batch]. Requires:
// image_size >= patch_size.
[[nodiscard]] Graph vision_transformer(const VisionConfig& config, std::int64_t batch);

using ModelConfig = std::variant<TransformerConfig, EncoderDecoderConfig, VisionConfig, ShiftedWindowConfig>;

[[nodiscard]] Graph build(const ModelConfig& config, std::int64_t batch);
// The part that all have: attention, dropout, sizes of a layer.
[[nodiscard]] TransformerConfig& layers_of(ModelConfig& config);

// ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431), the wide ResNets of Alpa's evaluation (OSDI'22, table 7), Inception-v3.
[[nodiscard]] std::map<std::string, std::function<Graph(std::int64_t batch)>, std::less<>> convolutional_networks();

}  // namespace pcg::models
