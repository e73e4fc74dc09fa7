#pragma once
// Encoder-decoder transformers described by numbers. Private to pcg/models.

#include <cstdint>

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

}  // namespace pcg::models
