#include "pcg/models/families/model_config.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"

namespace pcg::models {
namespace {

// Tensors are [batch, rows, columns, width] between layers.
class WindowedLayers {
 public:
  WindowedLayers(GraphBuilder& b, const ShiftedWindowConfig& c) : b_(b), c_(c) {}

  GraphTensorRef embed_patches(std::int64_t batch) {
    const int patch = static_cast<int>(c_.patch_size);
    GraphTensorRef x = b_.input("images", {.sizes = {batch, c_.channels, c_.image_size, c_.image_size}});
    const Window side_by_side{.kernel = patch, .stride = patch};
    x = b_.add("embedding.patch", Conv2d{.out = c_.layers.hidden, .rows = side_by_side, .columns = side_by_side, .has_bias = true}, {x});
    x = b_.add("embedding.patch.tokens", Transpose{.permutation = {0, 2, 3, 1}}, {x});
    return b_.add("embedding.norm", LayerNorm{}, {x});
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
  x = b.add("head.classifier", Linear{.out = c.classes, .has_bias = true}, {x});
  b.add("head.loss", CrossEntropy{}, {x, b.input("labels", {.sizes = {batch}, .element = Element::index})});
  return std::move(b).build();
}

}  // namespace pcg::models
