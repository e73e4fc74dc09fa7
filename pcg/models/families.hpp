#pragma once
// Models described by a few numbers, besides the plain transformer: encoder-decoders and vision transformers, and reading any of
// them from a Hugging Face config.json. Private to pcg/models.

#include <optional>
#include <variant>

#include "pcg/models/models.hpp"

namespace pcg::models {

// T5 (Raffel et al., arXiv 1910.10683): layers.layers encoder layers; one table of relative positions per stack.
struct EncoderDecoderConfig {
  TransformerConfig layers;
  std::int64_t decoder_layers = 1;
  std::int64_t position_buckets = 32;
};

// ViT (Dosovitskiy et al., arXiv 2010.11929): a class token and one token per patch. layers.sequence_length and vocab are not used.
struct VisionConfig {
  TransformerConfig layers;
  std::int64_t image_size = 224, patch_size = 16, channels = 3;
  std::int64_t classes = 1000;  // 0: no classifier
};

using ModelConfig = std::variant<TransformerConfig, EncoderDecoderConfig, VisionConfig>;

// Inputs "tokens", "decoder_tokens", "labels" [batch, sequence_length].
[[nodiscard]] Graph encoder_decoder(const EncoderDecoderConfig& config, std::int64_t batch);
// Inputs "images" [batch, channels, image_size, image_size] and "labels" [batch].
[[nodiscard]] Graph vision_transformer(const VisionConfig& config, std::int64_t batch);

[[nodiscard]] Graph build(const ModelConfig& config, std::int64_t batch);
// The part that all have: attention, dropout, sizes of a layer.
[[nodiscard]] TransformerConfig& layers_of(ModelConfig& config);

// Reads an architecture from a config.json (`document`, of a file called `name`). nullopt: what is wrong is in `sink`.
[[nodiscard]] std::optional<ModelConfig> read_huggingface(const base::Yaml& document, const std::string& name, base::Diagnostics& sink);

}  // namespace pcg::models
