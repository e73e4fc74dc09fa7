#include "pcg/models/families/model_config.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"

namespace pcg::models {
namespace {

// Patches as tokens [batch, patches, hidden], the class token before them, and a learned position for each.
GraphTensorRef embed_patches(GraphBuilder& b, const VisionConfig& c, std::int64_t batch) {
  const int patch = static_cast<int>(c.patch_size);
  const std::int64_t hidden = c.layers.hidden;
  GraphTensorRef x = b.input("images", {.sizes = {batch, c.channels, c.image_size, c.image_size}});
  const Window side_by_side{.kernel = patch, .stride = patch};
  const Conv2d cut{.out = hidden, .rows = side_by_side, .columns = side_by_side, .has_bias = true};
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
  b.begin_weightless_block("embedding");
  GraphTensorRef x = layers.dropout("embedding.dropout", embed_patches(b, c, batch));
  for (std::int64_t i = 0; i < c.layers.layers; ++i) {
    b.begin_block(fmt::format("layer {}", i));
    x = layers.layer(fmt::format("layer{}", i), x, FeedForward::mlp);
  }
  b.begin_weightless_block("head");
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

}  // namespace pcg::models
