// Networks of Unity's evaluation (OSDI'22, section 7) with the sizes of its artifact, and the MLP of its Figure 1. Those whose benchmark
// is a simplification of the architecture are called proxies.

#include "pcg/models/families/model_config.hpp"

#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {
namespace {

GraphTensorRef dense(GraphBuilder& b, const std::string& name, GraphTensorRef x, std::int64_t out, Activation activation) {
  return b.add(name, Linear{.out = out, .activation = activation}, {x});
}
GraphTensorRef features(GraphBuilder& b, const std::string& name, std::int64_t batch, std::int64_t width) {
  return b.input(name, {.sizes = {batch, width}});
}
void classify(GraphBuilder& b, std::int64_t batch, GraphTensorRef logits) {
  b.add("loss", CrossEntropy{}, {logits, b.input("labels", {.sizes = {batch}, .element = Element::index})});
}
void regress(GraphBuilder& b, GraphTensorRef prediction) {
  b.add("loss", SquaredError{}, {prediction, b.input("targets", {.sizes = b.shape(prediction).sizes})});
}

// 784 pixels, 512 hidden, 10 classes, no biases: 784 * 512 + 512 * 10 parameters, as in Figure 1.
Graph mlp_mnist(std::int64_t batch) {
  GraphBuilder b("mlp-mnist");
  b.begin_block("layer 0");
  GraphTensorRef x = dense(b, "layer0", features(b, "images", batch, 784), 512, Activation::relu);
  b.begin_block("layer 1");
  x = dense(b, "layer1", x, 10, Activation::none);
  b.begin_weightless_block("head");
  classify(b, batch, x);
  return std::move(b).build();
}

// Two towers of eight layers of 8192, added; the softmax is part of the loss.
Graph mlp(std::int64_t batch) {
  GraphBuilder b("mlp");
  constexpr int kLayers = 8;
  GraphTensorRef x[2];
  for (int i = 0; i < kLayers; ++i) {
    b.begin_block(fmt::format("layer {}", i));
    for (int t = 0; t < 2; ++t) {
      if (i == 0) x[t] = features(b, fmt::format("features{}", t), batch, 1024);
      x[t] = dense(b, fmt::format("tower{}.layer{}", t, i), x[t], 8192, i + 1 < kLayers ? Activation::relu : Activation::none);
    }
  }
  b.begin_weightless_block("head");
  classify(b, batch, b.add("sum", Binary{}, {x[0], x[1]}));
  return std::move(b).build();
}

// 12 layers of attention and two dense layers, no residuals, norms or embedding.
Graph bert_proxy(std::int64_t batch) {
  const TransformerConfig c{.name = "bert-proxy",
                            .layers = 12,
                            .hidden = 1024,
                            .heads = 16,
                            .causal = false,
                            .biases = false,
                            .attention = AttentionKind::unfused};
  GraphBuilder b(c.name);
  LayerBuilder layers(b, c);
  GraphTensorRef x;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    b.begin_block(fmt::format("layer {}", i));
    if (i == 0) x = b.input("embedded", {.sizes = {batch, 512, c.hidden}});
    const std::string prefix = fmt::format("layer{}", i);
    x = layers.self_attention(prefix + ".attention", x);
    x = dense(b, prefix + ".dense1", x, c.hidden, Activation::relu);
    x = dense(b, prefix + ".dense2", x, c.hidden, Activation::none);
  }
  b.begin_weightless_block("head");
  regress(b, dense(b, "head", x, 1, Activation::none));
  return std::move(b).build();
}

GraphTensorRef table(GraphBuilder& b, std::int64_t batch, int i, std::int64_t rows, std::int64_t width) {
  const GraphTensorRef index = b.input(fmt::format("sparse{}", i), {.sizes = {batch, 1}, .element = Element::index});
  return b.add(fmt::format("table{}", i), EmbeddingBag{.vocabulary = rows, .width = width}, {index});
}

// Eight tables of a million rows of 256; eight dense layers below, four above, of 1024 (the artifact's script for Summit).
Graph dlrm(std::int64_t batch) {
  GraphBuilder b("dlrm");
  b.begin_block("tables");
  std::vector<GraphTensorRef> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(table(b, batch, i, 1'000'000, 256));
  GraphTensorRef x = features(b, "dense", batch, 1024);
  for (int i = 0; i < 8; ++i) {
    b.begin_block(fmt::format("bottom {}", i));
    x = dense(b, fmt::format("bottom{}", i), x, 1024, Activation::relu);
  }
  parts.push_back(x);
  for (int i = 0; i < 4; ++i) {
    b.begin_block(fmt::format("top {}", i));
    if (i == 0) x = b.add("interaction", Concat{.axis = 1}, parts);
    x = dense(b, fmt::format("top{}", i), x, 1024, i < 3 ? Activation::relu : Activation::sigmoid);
  }
  b.begin_weightless_block("head");
  regress(b, x);
  return std::move(b).build();
}

// Four tables of a million rows of 64, then three dense layers.
Graph xdl(std::int64_t batch) {
  GraphBuilder b("xdl");
  b.begin_block("tables");
  std::vector<GraphTensorRef> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(table(b, batch, i, 1'000'000, 64));
  b.begin_block("top");
  GraphTensorRef x = b.add("concat", Concat{.axis = 1}, parts);
  x = dense(b, "top0", x, 256, Activation::relu);
  x = dense(b, "top1", x, 256, Activation::relu);
  x = dense(b, "top2", x, 2, Activation::sigmoid);
  b.begin_weightless_block("head");
  regress(b, x);
  return std::move(b).build();
}

// Five feature towers of eight layers of 4192 (no weights in common), two doses, four joint layers.
Graph candle_uno(std::int64_t batch) {
  struct Tower {
    const char* name;
    std::int64_t width;
  };
  constexpr Tower kTowers[] = {{"cell_rnaseq", 942},
                               {"drug1_descriptors", 5270},
                               {"drug1_fingerprints", 2048},
                               {"drug2_descriptors", 5270},
                               {"drug2_fingerprints", 2048}};
  constexpr std::int64_t kWidth = 4192;
  GraphBuilder b("candle-uno");
  std::vector<GraphTensorRef> parts;
  for (const Tower& tower : kTowers) {
    b.begin_block(tower.name);
    GraphTensorRef x = features(b, tower.name, batch, tower.width);
    for (int i = 0; i < 8; ++i) x = dense(b, fmt::format("{}.layer{}", tower.name, i), x, kWidth, Activation::relu);
    parts.push_back(x);
  }
  b.begin_block("joint 0");
  for (const char* dose : {"dose1", "dose2"}) parts.push_back(features(b, dose, batch, 1));
  GraphTensorRef x = b.add("concat", Concat{.axis = 1}, parts);
  for (int i = 0; i < 4; ++i) {
    if (i > 0) b.begin_block(fmt::format("joint {}", i));
    x = dense(b, fmt::format("joint{}", i), x, kWidth, Activation::relu);
  }
  b.begin_weightless_block("head");
  regress(b, dense(b, "head", x, 1, Activation::none));
  return std::move(b).build();
}

}  // namespace

std::map<std::string, std::function<Graph(std::int64_t batch)>, std::less<>> unity_networks() {
  return {{"bert-proxy", bert_proxy}, {"candle-uno", candle_uno}, {"dlrm", dlrm}, {"mlp", mlp}, {"mlp-mnist", mlp_mnist}, {"xdl", xdl}};
}

}  // namespace pcg::models
