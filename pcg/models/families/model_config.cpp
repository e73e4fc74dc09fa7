#include "pcg/models/families/model_config.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"

namespace pcg::models {

Graph build(const ModelConfig& config, std::int64_t batch) {
  struct Visitor {
    std::int64_t batch;
    Graph operator()(const TransformerConfig& c) const { return transformer(c, batch); }
    Graph operator()(const EncoderDecoderConfig& c) const { return encoder_decoder(c, batch); }
    Graph operator()(const VisionConfig& c) const { return vision_transformer(c, batch); }
    Graph operator()(const ShiftedWindowConfig& c) const { return shifted_window_transformer(c, batch); }
  };
  return std::visit(Visitor{batch}, config);
}

TransformerConfig& layers_of(ModelConfig& config) {
  return std::visit(
      []<class Config>(Config& c) -> TransformerConfig& {
        if constexpr (std::is_same_v<Config, TransformerConfig>) return c;
        else return c.layers;
      },
      config);
}

namespace {

// Patches [batch, hidden, rows, columns] of the input "images".
template <class Config>
GraphTensorRef cut_patches(GraphBuilder& b, const Config& c, std::int64_t batch) {
  const int patch = static_cast<int>(c.patch_size);
  const Window side_by_side{.kernel = patch, .stride = patch};
  const GraphTensorRef images = b.input("images", {.sizes = {batch, c.channels, c.image_size, c.image_size}});
  return b.add("embedding.patch", Conv2d{.out = c.layers.hidden, .rows = side_by_side, .columns = side_by_side, .has_bias = true},
               {images});
}

// Patches as tokens [batch, patches, hidden], the class token before them, and a learned position for each.
GraphTensorRef embed_patches(GraphBuilder& b, const VisionConfig& c, std::int64_t batch) {
  GraphTensorRef x = b.add("embedding.patch.flat", Reshape{.sizes = {0, 0, -1}}, {cut_patches(b, c, batch)});
  x = b.add("embedding.patch.tokens", Transpose{.permutation = {0, 2, 1}}, {x});
  const GraphTensorRef token = b.weight("embedding.class_token", {.sizes = {1, 1, c.layers.hidden}});
  const GraphTensorRef tokens = b.add("embedding.class_token.each", Broadcast{.axis = 0, .size = batch}, {token});
  x = b.add("embedding.sequence", Concat{.axis = 1}, {tokens, x});
  return add_positions(b, "embedding.position", x, b.shape(x).sizes[1]);
}

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

// Tensors are [batch, rows, columns, width] between layers.
class WindowedLayers {
 public:
  WindowedLayers(GraphBuilder& b, const ShiftedWindowConfig& c) : b_(b), c_(c) {}

  GraphTensorRef embed_patches(std::int64_t batch) {
    const GraphTensorRef patches = cut_patches(b_, c_, batch);
    return b_.add("embedding.norm", LayerNorm{}, {b_.add("embedding.patch.tokens", Transpose{.permutation = {0, 2, 3, 1}}, {patches})});
  }

  GraphTensorRef layer(const std::string& name, const TransformerConfig& config, GraphTensorRef x) {
    LayerBuilder parts(b_, config);
    const std::string attention = name + ".attention";
    const std::int64_t side = b_.shape(x).sizes[1], window = c_.window, windows = side / window;
    GraphTensorRef y = parts.norm(name + ".norm1", x);
    y = b_.add(attention + ".window_rows", Reshape{.sizes = {0, windows, window, windows, window, config.hidden}}, {y});
    y = b_.add(attention + ".window_order", Transpose{.permutation = {0, 1, 3, 2, 4, 5}}, {y});
    y = b_.add(attention + ".windows", Reshape{.sizes = {0, windows * windows, window * window, config.hidden}}, {y});
    const std::int64_t places = 2 * window - 1;
    const GraphTensorRef bias = b_.weight(attention + ".position_bias", {.sizes = {places * places, config.heads}});
    y = parts.self_attention(attention, y, bias);
    y = b_.add(attention + ".rows_of_windows", Reshape{.sizes = {0, windows, windows, window, window, config.hidden}}, {y});
    y = b_.add(attention + ".row_order", Transpose{.permutation = {0, 1, 3, 2, 4, 5}}, {y});
    y = b_.add(attention + ".rows", Reshape{.sizes = {0, side, side, config.hidden}}, {y});
    x = parts.add(attention + ".residual", x, y);
    return parts.add(name + ".mlp.residual", x, parts.mlp(name + ".mlp", parts.norm(name + ".norm2", x)));
  }

  // Four neighbours become one, of twice the width.
  GraphTensorRef merge(const std::string& name, GraphTensorRef x) {
    const std::int64_t side = b_.shape(x).sizes[1], width = b_.shape(x).sizes[3];
    x = b_.add(name + ".pairs", Reshape{.sizes = {0, side / 2, 2, side / 2, 2, width}}, {x});
    x = b_.add(name + ".order", Transpose{.permutation = {0, 1, 3, 2, 4, 5}}, {x});
    x = b_.add(name + ".squares", Reshape{.sizes = {0, side / 2, side / 2, 4 * width}}, {x});
    x = b_.add(name + ".norm", LayerNorm{}, {x});
    return b_.add(name + ".reduction", Linear{.out = 2 * width}, {x});
  }

 private:
  GraphBuilder& b_;
  const ShiftedWindowConfig& c_;
};

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
  add_classifier(b, c.classes, x);
  return std::move(b).build();
}

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
  y = decode(b, c, y, encode(b, c, embedded.x));
  b.begin_weightless_block("head");
  y = layers.dropout("head.dropout", layers.norm("head.norm", y));
  if (!c.layers.head) return std::move(b).build();
  const Linear logits{.out = c.layers.vocab, .transposed_weight = c.layers.tied_embeddings};
  y = b.add("head.logits", logits, {y},
            c.layers.tied_embeddings ? std::vector<GraphTensorRef>{embedded.table} : std::vector<GraphTensorRef>{});
  b.add("head.loss", CrossEntropy{}, {y, b.input("labels", index)});
  return std::move(b).build();
}

Graph shifted_window_transformer(const ShiftedWindowConfig& c, std::int64_t batch) {
  GraphBuilder b(c.layers.name);
  WindowedLayers layers(b, c);
  b.begin_weightless_block("embedding");
  GraphTensorRef x = layers.embed_patches(batch);
  TransformerConfig config = c.layers;
  std::int64_t number = 0;
  for (std::size_t stage = 0; stage < c.depths.size(); ++stage) {
    const std::int64_t side = b.shape(x).sizes[1] / (stage == 0 ? 1 : 2);
    BASE_CHECK(side % c.window == 0, "{}: {} patches each way, windows of {}", c.layers.name, side, c.window);
    for (std::int64_t i = 0; i < c.depths[stage]; ++i, ++number) {
      b.begin_block(fmt::format("layer {}", number));
      if (stage > 0 && i == 0) {
        x = layers.merge(fmt::format("stage{}.merging", stage), x);
        config.hidden *= 2;
        config.heads *= 2;
      }
      x = layers.layer(fmt::format("layer{}", number), config, x);
    }
  }
  b.begin_weightless_block("head");
  x = b.add("head.norm", LayerNorm{}, {x});
  for (int axis = 0; axis < 2; ++axis)
    x = b.add(axis == 0 ? "head.mean_of_rows" : "head.mean", Reduction{.kind = Reduction::Kind::mean, .axis = 1}, {x});
  add_classifier(b, c.classes, x);
  return std::move(b).build();
}

}  // namespace pcg::models
