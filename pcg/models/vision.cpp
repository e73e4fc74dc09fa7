#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/models/families.hpp"
#include "pcg/models/layers.hpp"

namespace pcg::models {
namespace {

// Patches as tokens [batch, patches, hidden], the class token before them, and a learned position for each.
GraphTensorRef embed_patches(GraphBuilder& b, const VisionConfig& c, std::int64_t batch) {
  const int patch = static_cast<int>(c.patch_size);
  const std::int64_t hidden = c.layers.hidden;
  GraphTensorRef x = b.input("images", {.sizes = {batch, c.channels, c.image_size, c.image_size}});
  const Conv2d cut{.out = hidden, .kernel_h = patch, .kernel_w = patch, .stride_h = patch, .stride_w = patch, .has_bias = true};
  x = b.add("embedding.patch", cut, {x});
  x = b.add("embedding.patch.flat", Reshape{.sizes = {0, 0, -1}}, {x});
  x = b.add("embedding.patch.tokens", Transpose{.permutation = {0, 2, 1}}, {x});
  const GraphTensorRef token = b.weight("embedding.class_token", {.sizes = {1, 1, hidden}});
  const GraphTensorRef tokens = b.add("embedding.class_token.each", Broadcast{.axis = 0, .size = batch}, {token});
  x = b.add("embedding.sequence", Concat{.axis = 1}, {tokens, x});
  return add_positions(b, "embedding.position", x, b.shape(x).sizes[1]);
}

}  // namespace

Graph vision_transformer(const VisionConfig& c, std::int64_t batch) {
  BASE_CHECK(c.image_size >= c.patch_size, "{}: image {} patch {}", c.layers.name, c.image_size, c.patch_size);
  GraphBuilder b(c.layers.name);
  LayerBuilder layers(b, c.layers);
  b.begin_block("embedding", false);
  GraphTensorRef x = layers.dropout("embedding.dropout", embed_patches(b, c, batch));
  for (std::int64_t i = 0; i < c.layers.layers; ++i) {
    b.begin_block(fmt::format("layer {}", i));
    x = layers.layer(fmt::format("layer{}", i), x, false);
  }
  b.begin_block("head", false);
  x = layers.norm("head.norm", x);
  x = b.add("head.class_token", Slice{.axis = 1, .begin = 0, .length = 1}, {x});
  x = b.add("head.class_token.flat", Reshape{.sizes = {0, -1}}, {x});
  if (c.layers.pooler) {
    x = b.add("head.pooler", Linear{.out = c.layers.hidden, .has_bias = true}, {x});
    x = b.add("head.pooler.activation", Unary{.kind = Unary::Kind::tanh}, {x});
  }
  if (c.classes == 0) return std::move(b).build();
  x = b.add("head.classifier", Linear{.out = c.classes, .has_bias = true}, {x});
  b.add("head.loss", CrossEntropy{}, {x, b.input("labels", {.sizes = {batch}, .element = Element::index})});
  return std::move(b).build();
}

Graph build(const ModelConfig& config, std::int64_t batch) {
  struct Visitor {
    std::int64_t batch;
    Graph operator()(const TransformerConfig& c) const { return transformer(c, batch); }
    Graph operator()(const EncoderDecoderConfig& c) const { return encoder_decoder(c, batch); }
    Graph operator()(const VisionConfig& c) const { return vision_transformer(c, batch); }
  };
  return std::visit(Visitor{batch}, config);
}

TransformerConfig& layers_of(ModelConfig& config) {
  struct Visitor {
    TransformerConfig& operator()(TransformerConfig& c) const { return c; }
    TransformerConfig& operator()(EncoderDecoderConfig& c) const { return c.layers; }
    TransformerConfig& operator()(VisionConfig& c) const { return c.layers; }
  };
  return std::visit(Visitor{}, config);
}

}  // namespace pcg::models
