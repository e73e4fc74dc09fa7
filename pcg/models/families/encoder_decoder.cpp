#include "pcg/models/families/model_config.hpp"

#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"

namespace pcg::models {
namespace {

// The layers of a stack share one table of relative positions (Raffel et al., arXiv 1910.10683, section 2.1). It is made in the block of
// the first of them.
GraphTensorRef position_table(GraphBuilder& b, const EncoderDecoderConfig& c, const std::string& stack) {
  return b.weight(stack + ".relative_positions", {.sizes = {c.position_buckets, c.layers.heads}});
}

GraphTensorRef encode(GraphBuilder& b, const EncoderDecoderConfig& c, GraphTensorRef x) {
  TransformerConfig config = c.layers;
  config.causal = false;
  LayerBuilder layers(b, config);
  std::optional<GraphTensorRef> positions;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    b.begin_block(fmt::format("encoder layer {}", i));
    if (!positions) positions = position_table(b, c, "encoder");
    x = layers.layer(fmt::format("encoder{}", i), x, FeedForward::mlp, positions);
  }
  return layers.dropout("encoder.dropout", layers.norm("encoder.norm", x));
}

// Norms come first in each sublayer, residuals go round it (section 2.1 there).
GraphTensorRef decoder_layer(LayerBuilder& layers, const std::string& prefix, GraphTensorRef x, GraphTensorRef memory,
                             GraphTensorRef positions) {
  x = layers.add(prefix + ".attention.residual", x,
                 layers.self_attention(prefix + ".attention", layers.norm(prefix + ".norm1", x), positions));
  x = layers.add(prefix + ".cross.residual", x, layers.cross_attention(prefix + ".cross", layers.norm(prefix + ".norm2", x), memory));
  return layers.add(prefix + ".mlp.residual", x, layers.mlp(prefix + ".mlp", layers.norm(prefix + ".norm3", x)));
}

GraphTensorRef decode(GraphBuilder& b, const EncoderDecoderConfig& c, GraphTensorRef x, GraphTensorRef memory) {
  TransformerConfig config = c.layers;
  config.causal = true;
  LayerBuilder layers(b, config);
  std::optional<GraphTensorRef> positions;
  for (std::int64_t i = 0; i < c.decoder_layers; ++i) {
    b.begin_block(fmt::format("decoder layer {}", i));
    if (!positions) positions = position_table(b, c, "decoder");
    x = decoder_layer(layers, fmt::format("decoder{}", i), x, memory, *positions);
  }
  return x;
}

}  // namespace

Graph encoder_decoder(const EncoderDecoderConfig& c, std::int64_t batch) {
  GraphBuilder b(c.layers.name);
  LayerBuilder layers(b, c.layers);
  const TensorShape index{.sizes = {batch, c.layers.sequence_length}, .element = Element::index};
  b.begin_weightless_block("embedding");
  const Embedded embedded = embed_tokens(b, c.layers, batch);
  // Encoder and decoder look tokens up in one table.
  const Embedding lookup{.vocabulary = c.layers.vocab, .width = c.layers.hidden};
  GraphTensorRef y = b.add("embedding.decoder_token", lookup, {b.input("decoder_tokens", index)}, {embedded.table});
  y = layers.dropout("embedding.decoder_dropout", y);
  const GraphTensorRef memory = encode(b, c, embedded.x);
  y = decode(b, c, y, memory);
  b.begin_weightless_block("head");
  y = layers.dropout("head.dropout", layers.norm("head.norm", y));
  if (!c.layers.head) return std::move(b).build();
  const Linear logits{.out = c.layers.vocab, .transposed_weight = c.layers.tied_embeddings};
  y = b.add("head.logits", logits, {y},
            c.layers.tied_embeddings ? std::vector<GraphTensorRef>{embedded.table} : std::vector<GraphTensorRef>{});
  b.add("head.loss", CrossEntropy{}, {y, b.input("labels", index)});
  return std::move(b).build();
}

}  // namespace pcg::models
