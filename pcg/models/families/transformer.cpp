#include "pcg/models/families/transformer.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"

namespace pcg::models {
namespace {

GraphTensorRef labels(GraphBuilder& b, const std::string& name, std::vector<std::int64_t> sizes) {
  return b.input(name, {.sizes = std::move(sizes), .element = Element::index});
}

// BERT: the first token through a dense layer and tanh; with a head, two classes: is the second sentence the next one?
void add_pooler(GraphBuilder& b, const TransformerConfig& c, std::int64_t batch, GraphTensorRef x) {
  x = b.add("head.first_token", Slice{.axis = 1, .begin = 0, .length = 1}, {x});
  x = b.add("head.first_token.flat", Reshape{.sizes = {0, -1}}, {x});
  x = b.add("head.pooler", Linear{.out = c.hidden, .has_bias = true}, {x});
  x = b.add("head.pooler.activation", Unary{.kind = Unary::Kind::tanh}, {x});
  if (!c.head) return;
  x = b.add("head.next_sentence", Linear{.out = 2, .has_bias = true}, {x});
  b.add("head.next_sentence.loss", CrossEntropy{}, {x, labels(b, "next_sentence_labels", {batch})});
}

void add_language_head(GraphBuilder& b, const TransformerConfig& c, std::int64_t batch, GraphTensorRef x, GraphTensorRef table) {
  if (c.head_transform) {
    x = b.add("head.transform", Linear{.out = c.hidden, .has_bias = true}, {x});
    x = b.add("head.transform.activation", Unary{.kind = c.activation}, {x});
    x = b.add("head.transform.norm", LayerNorm{.rms = c.rms_norm}, {x});
  }
  if (c.embedding_width > 0 && c.embedding_width != c.hidden) x = b.add("head.project", Linear{.out = c.embedding_width}, {x});
  const Linear logits{.out = c.vocab, .has_bias = c.head_transform, .transposed_weight = c.tied_embeddings};
  x = b.add("head.logits", logits, {x}, c.tied_embeddings ? std::vector<GraphTensorRef>{table} : std::vector<GraphTensorRef>{});
  b.add("head.loss", CrossEntropy{}, {x, labels(b, "labels", {batch, c.sequence_length})});
}

}  // namespace

std::vector<std::string> problems(const TransformerConfig& c) {
  std::vector<std::string> result;
  if (c.head_dim == 0 && c.hidden % c.heads != 0)
    result.push_back(fmt::format("hidden {} does not divide into {} heads", c.hidden, c.heads));
  if (c.heads % kv_heads(c) != 0) result.push_back(fmt::format("{} heads do not divide into {} kv_heads", c.heads, kv_heads(c)));
  if (c.positions > 0 && c.positions < c.sequence_length)
    result.push_back(fmt::format("sequence_length {} is longer than the table of {} positions", c.sequence_length, c.positions));
  if (c.experts > 0 && c.top_k > c.experts) result.push_back(fmt::format("top_k {} of {} experts", c.top_k, c.experts));
  return result;
}

Graph transformer(const TransformerConfig& c, std::int64_t batch) {
  BASE_CHECK(problems(c).empty(), "{}: {}", c.name, problems(c).front());
  GraphBuilder b(c.name);
  LayerBuilder layers(b, c);
  b.begin_weightless_block("embedding");
  const Embedded embedded = embed_tokens(b, c, batch);
  GraphTensorRef x = embedded.x;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    b.begin_block(fmt::format("layer {}", i));
    x = layers.layer(fmt::format("layer{}", i), x, feed_forward_of(c, i));
  }
  b.begin_weightless_block("head");
  if (c.final_norm && !c.post_norm) x = layers.norm("head.norm", x);  // after post-norm layers x is normed already
  if (c.pooler) add_pooler(b, c, batch, x);
  if (c.head) add_language_head(b, c, batch, x, embedded.table);
  return std::move(b).build();
}

}  // namespace pcg::models
