#include "pcg/models/families/layers.hpp"

#include <fmt/core.h>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

std::int64_t head_dim(const TransformerConfig& c) { return c.head_dim > 0 ? c.head_dim : c.hidden / c.heads; }
std::int64_t kv_heads(const TransformerConfig& c) { return c.kv_heads > 0 ? c.kv_heads : c.heads; }
std::int64_t ffn_size(const TransformerConfig& c) { return c.ffn > 0 ? c.ffn : 4 * c.hidden; }
FeedForward feed_forward_of(const TransformerConfig& c, std::int64_t layer) {
  return c.experts > 0 && (layer + 1) % c.expert_every == 0 ? FeedForward::experts : FeedForward::mlp;
}

GraphTensorRef LayerBuilder::norm(const std::string& name, GraphTensorRef x) { return b_.add(name, LayerNorm{.rms = c_.rms_norm}, {x}); }

GraphTensorRef LayerBuilder::dropout(const std::string& name, GraphTensorRef x) {
  return c_.dropout > 0 ? b_.add(name, Dropout{.rate = c_.dropout}, {x}) : x;
}

GraphTensorRef LayerBuilder::add(const std::string& name, GraphTensorRef x, GraphTensorRef y) {
  return b_.add(name, Binary{.kind = Binary::Kind::add}, {x, y});
}

GraphTensorRef LayerBuilder::attention_out(const std::string& prefix, GraphTensorRef heads) {
  const GraphTensorRef y = b_.add(prefix + ".out", Linear{.out = c_.hidden, .has_bias = c_.biases}, {heads});
  return dropout(prefix + ".dropout", y);
}

// One product makes queries, keys and values, laid out by key head, so that heads can be cut together.
GraphTensorRef LayerBuilder::self_attention(const std::string& prefix, GraphTensorRef x, std::optional<GraphTensorRef> position_bias) {
  const std::int64_t width = (c_.heads + 2 * kv_heads(c_)) * head_dim(c_);
  const GraphTensorRef qkv = b_.add(prefix + ".qkv", Linear{.out = width, .has_bias = c_.biases || c_.qkv_biases}, {x});
  Attention core{.heads = c_.heads,
                 .kv_heads = kv_heads(c_),
                 .packed = true,
                 .causal = c_.causal,
                 .flash = c_.attention == AttentionKind::flash,
                 .rope = c_.rope,
                 .has_bias = position_bias.has_value(),
                 .dropout = c_.dropout};
  std::vector<GraphTensorRef> weights;
  if (position_bias) weights.push_back(*position_bias);
  return attention_out(prefix, b_.add(prefix + ".core", core, {qkv}, weights));
}

// Queries come from the decoder, keys and values from the encoder: their projections have different inputs and are products of their own.
GraphTensorRef LayerBuilder::cross_attention(const std::string& prefix, GraphTensorRef x, GraphTensorRef memory) {
  const auto project = [&](const char* what, GraphTensorRef from, std::int64_t heads) {
    return b_.add(prefix + what, Linear{.out = heads * head_dim(c_), .has_bias = c_.biases || c_.qkv_biases}, {from});
  };
  const GraphTensorRef q = project(".q", x, c_.heads);
  const GraphTensorRef k = project(".k", memory, kv_heads(c_));
  const GraphTensorRef v = project(".v", memory, kv_heads(c_));
  const Attention core{
      .heads = c_.heads, .kv_heads = kv_heads(c_), .packed = false, .flash = c_.attention == AttentionKind::flash, .dropout = c_.dropout};
  return attention_out(prefix, b_.add(prefix + ".core", core, {q, k, v}));
}

GraphTensorRef LayerBuilder::mlp(const std::string& prefix, GraphTensorRef x) {
  const Linear widen{.out = ffn_size(c_), .has_bias = c_.biases};
  GraphTensorRef y = b_.add(prefix + ".up", widen, {x});
  // Gated linear units (Shazeer, arXiv 2002.05202): the activated gate multiplies a second projection.
  if (c_.gated) {
    const GraphTensorRef gate = b_.add(prefix + ".gate", widen, {x});
    const GraphTensorRef opened = b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {gate});
    y = b_.add(prefix + ".product", Binary{.kind = Binary::Kind::multiply}, {opened, y});
  } else {
    y = b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {y});
  }
  y = b_.add(prefix + ".down", Linear{.out = c_.hidden, .has_bias = c_.biases}, {y});
  return dropout(prefix + ".dropout", y);
}

GraphTensorRef LayerBuilder::mixture(const std::string& prefix, GraphTensorRef x) {
  const int top_k = static_cast<int>(c_.top_k);
  const GraphTensorRef routes = b_.add(prefix + ".router", Linear{.out = c_.experts}, {x});
  const GraphTensorRef gates = b_.add(prefix + ".routing", Softmax{}, {routes});
  const GraphTensorRef sent = b_.add(prefix + ".dispatch", MoeDispatch{.top_k = top_k, .capacity_factor = c_.capacity_factor}, {x, gates});
  const ExpertLinear widen{.out = ffn_size(c_)};
  GraphTensorRef y = b_.add(prefix + ".up", widen, {sent});
  if (c_.gated) {
    const GraphTensorRef gate = b_.add(prefix + ".gate", widen, {sent});
    const GraphTensorRef opened = b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {gate});
    y = b_.add(prefix + ".product", Binary{.kind = Binary::Kind::multiply}, {opened, y});
  } else {
    y = b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {y});
  }
  y = b_.add(prefix + ".down", ExpertLinear{.out = c_.hidden}, {y});
  y = b_.add(prefix + ".combine", MoeCombine{.top_k = top_k, .capacity_factor = c_.capacity_factor}, {y, gates});
  return dropout(prefix + ".dropout", y);
}

GraphTensorRef LayerBuilder::layer(const std::string& prefix, GraphTensorRef x, FeedForward part,
                                   std::optional<GraphTensorRef> position_bias) {
  const bool moe = part == FeedForward::experts;
  const auto feed_forward = [&](GraphTensorRef y) { return moe ? mixture(prefix + ".moe", y) : mlp(prefix + ".mlp", y); };
  const std::string attention = prefix + ".attention";
  const std::string residual = prefix + (moe ? ".moe" : ".mlp") + ".residual";
  if (c_.post_norm) {
    x = norm(prefix + ".norm1", add(attention + ".residual", x, self_attention(attention, x, position_bias)));
    return norm(prefix + ".norm2", add(residual, x, feed_forward(x)));
  }
  const GraphTensorRef attended = self_attention(attention, norm(prefix + ".norm1", x), position_bias);
  if (c_.parallel_residual) {
    const GraphTensorRef fed = feed_forward(norm(prefix + ".norm2", x));
    return add(residual, add(attention + ".residual", x, attended), fed);
  }
  x = add(attention + ".residual", x, attended);
  return add(residual, x, feed_forward(norm(prefix + ".norm2", x)));
}

GraphTensorRef add_positions(GraphBuilder& b, const std::string& name, GraphTensorRef x, std::int64_t positions) {
  const std::vector<std::int64_t> sizes = b.shape(x).sizes;  // [batch, sequence, hidden]
  GraphTensorRef table = b.weight(name, {.sizes = {positions, sizes[2]}});
  if (sizes[1] < positions) table = b.add(name + ".slice", Slice{.axis = 0, .begin = 0, .length = sizes[1]}, {table});
  return b.add(name + ".add", Binary{.kind = Binary::Kind::add}, {x, table});
}

Embedded embed_tokens(GraphBuilder& b, const TransformerConfig& c, std::int64_t batch) {
  const TensorShape index{.sizes = {batch, c.sequence_length}, .element = Element::index};
  const std::int64_t width = c.embedding_width > 0 ? c.embedding_width : c.hidden;
  const GraphTensorRef tokens = b.input("tokens", index);
  const GraphTensorRef table = b.weight("embedding.token.weight", {.sizes = {c.vocab, width}});
  GraphTensorRef x = b.add("embedding.token", Embedding{.vocabulary = c.vocab, .width = width}, {tokens}, {table});
  if (width != c.hidden) x = b.add("embedding.project", Linear{.out = c.hidden}, {x});
  if (c.positions >= 0) x = add_positions(b, "embedding.position", x, c.positions > 0 ? c.positions : c.sequence_length);
  if (c.token_types > 0) {
    const GraphTensorRef types =
        b.add("embedding.token_type", Embedding{.vocabulary = c.token_types, .width = c.hidden}, {b.input("token_types", index)});
    x = b.add("embedding.token_type.add", Binary{.kind = Binary::Kind::add}, {x, types});
  }
  LayerBuilder layers(b, c);
  if (c.embedding_norm) x = layers.norm("embedding.norm", x);
  return {layers.dropout("embedding.dropout", x), table};
}

}  // namespace pcg::models
