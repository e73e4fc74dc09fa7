#include "pcg/models/families/layers.hpp"

#include "base/check.hpp"
#include "pcg/operators/head_dims.hpp"

namespace pcg::models {

std::int64_t head_dim(const TransformerConfig& c) { return c.head_dim > 0 ? c.head_dim : c.hidden / c.heads; }
std::int64_t kv_heads(const TransformerConfig& c) { return c.kv_heads > 0 ? c.kv_heads : c.heads; }
std::int64_t ffn_size(const TransformerConfig& c) { return c.ffn > 0 ? c.ffn : 4 * c.hidden; }
std::int64_t expert_ffn_size(const TransformerConfig& c) { return c.expert_ffn > 0 ? c.expert_ffn : ffn_size(c); }
FeedForward feed_forward_of(const TransformerConfig& c, std::int64_t layer) {
  const bool experts = c.experts > 0 && layer >= c.dense_layers && (layer + 1) % c.expert_every == 0;
  return experts ? FeedForward::experts : FeedForward::mlp;
}
LayerPart part_of(char letter) { return static_cast<LayerPart>(kPatternLetters.find(letter)); }
Reach reach_of(const TransformerConfig& c, std::int64_t layer) {
  const bool global = c.window == 0 || (c.global_every > 0 && (layer + 1) % c.global_every == 0);
  return global ? Reach::all : Reach::window;
}

GraphTensorRef LayerBuilder::norm(const std::string& name, GraphTensorRef x) { return b_.add(name, LayerNorm{.rms = c_.rms_norm}, {x}); }

GraphTensorRef LayerBuilder::dropout(const std::string& name, GraphTensorRef x) {
  return c_.dropout > 0 ? b_.add(name, Dropout{.rate = c_.dropout}, {x}) : x;
}

GraphTensorRef LayerBuilder::add(const std::string& name, GraphTensorRef x, GraphTensorRef y) {
  return b_.add(name, Binary{.kind = Binary::Kind::add}, {x, y});
}

GraphTensorRef LayerBuilder::attention_out(const std::string& prefix, GraphTensorRef heads) {
  const GraphTensorRef y = b_.add(prefix + ".out", Linear{.out = c_.hidden, .has_bias = c_.biases || c_.out_biases}, {heads});
  return dropout(prefix + ".dropout", y);
}

Attention LayerBuilder::core(Reach reach) const {
  Attention core{.heads = c_.heads,
                 .kv_heads = kv_heads(c_),
                 .causal = c_.causal,
                 .flash = c_.attention == AttentionKind::flash,
                 .rope = c_.rope,
                 .dropout = c_.dropout,
                 .qk_norm = c_.qk_norm,
                 .repeated_keys = c_.repeated_keys,
                 .sinks = c_.sinks};
  if (reach == Reach::window) core.window = c_.window;
  core.chunked = c_.chunked && core.window > 0;
  return core;
}

GraphTensorRef LayerBuilder::self_attention(const std::string& prefix, GraphTensorRef x, std::optional<GraphTensorRef> position_bias,
                                            Reach reach) {
  std::vector<GraphTensorRef> weights;
  const auto weight = [&](const char* name, std::int64_t size) { weights.push_back(b_.weight(prefix + name, {.sizes = {size}})); };
  if (c_.qk_norm) weight(".query_norm.weight", head_dim(c_));
  if (c_.qk_norm) weight(".key_norm.weight", head_dim(c_));
  if (c_.sinks) weight(".sinks", c_.heads);
  if (position_bias) weights.push_back(*position_bias);
  return attention_out(prefix, c_.kv_rank > 0 ? latent_heads(prefix, x, weights, reach) : packed_heads(prefix, x, weights, reach));
}

// One product makes queries, keys and values, laid out by key head, so that heads can be cut together.
GraphTensorRef LayerBuilder::packed_heads(const std::string& prefix, GraphTensorRef x, const std::vector<GraphTensorRef>& weights,
                                          Reach reach) {
  const auto project = [&](const char* name, std::int64_t heads) {
    return b_.add(prefix + name, Linear{.out = heads * head_dim(c_), .has_bias = c_.biases || c_.qkv_biases}, {x});
  };
  if (c_.wide_qk_norm) {
    Attention separate = core(reach);
    separate.packed = false;
    const GraphTensorRef q = norm(prefix + ".query_norm", project(".q", c_.heads)),
                         k = norm(prefix + ".key_norm", project(".k", kv_heads(c_)));
    return b_.add(prefix + ".core", separate, {q, k, project(".v", kv_heads(c_))}, weights);
  }
  const GraphTensorRef qkv = project(".qkv", c_.heads + 2 * kv_heads(c_));
  Attention packed = core(reach);
  packed.has_bias = weights.size() == attention_weights(packed) + 1;
  return b_.add(prefix + ".core", packed, {qkv}, weights);
}

// Queries, and keys and values, by way of a few numbers per token that are normalised; the rotary part of the keys is one for all heads.
GraphTensorRef LayerBuilder::latent_heads(const std::string& prefix, GraphTensorRef x, const std::vector<GraphTensorRef>& weights,
                                          Reach reach) {
  const auto linear = [&](const char* name, GraphTensorRef from, std::int64_t out) {
    return b_.add(prefix + name, Linear{.out = out, .has_bias = c_.biases}, {from});
  };
  const std::int64_t own = head_dim(c_);
  const auto queries = [&](GraphTensorRef from) { return linear(".q_up", from, c_.heads * (own + c_.rope_dim)); };
  const GraphTensorRef q = c_.query_rank == 0 ? queries(x) : queries(norm(prefix + ".q_norm", linear(".q_down", x, c_.query_rank)));
  const GraphTensorRef down = linear(".kv_down", x, c_.kv_rank + c_.rope_dim);
  const std::vector<GraphTensorRef> parts = b_.add_raw(prefix + ".kv_parts", Split{.axis = -1, .sizes = {c_.kv_rank, c_.rope_dim}}, {down});
  const GraphTensorRef kv = linear(".kv_up", norm(prefix + ".kv_norm", parts[0]), c_.heads * (own + c_.value_dim));
  Attention latent = core(reach);
  latent.packed = false;
  latent.latent = true;
  return b_.add(prefix + ".core", latent, {q, kv, parts[1]}, weights);
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

// Gated linear units (Shazeer, arXiv 2002.05202): the activated gate multiplies a second projection.
GraphTensorRef LayerBuilder::activated(const std::string& prefix, const std::function<GraphTensorRef(const char*)>& widen) {
  const GraphTensorRef up = widen(".up");
  if (!c_.gated) return b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {up});
  const GraphTensorRef opened = b_.add(prefix + ".activation", Unary{.kind = c_.activation}, {widen(".gate")});
  return b_.add(prefix + ".product", Binary{.kind = Binary::Kind::multiply}, {opened, up});
}

GraphTensorRef LayerBuilder::dense(const std::string& prefix, GraphTensorRef x, std::int64_t width) {
  const auto linear = [&](const char* name, GraphTensorRef from, std::int64_t out) {
    return b_.add(prefix + name, Linear{.out = out, .has_bias = c_.biases || c_.mlp_biases}, {from});
  };
  return linear(".down", activated(prefix, [&](const char* name) { return linear(name, x, width); }), c_.hidden);
}

GraphTensorRef LayerBuilder::mlp(const std::string& prefix, GraphTensorRef x) {
  return dropout(prefix + ".dropout", dense(prefix, x, ffn_size(c_)));
}

GraphTensorRef LayerBuilder::mixture(const std::string& prefix, GraphTensorRef x) {
  const int top_k = static_cast<int>(c_.top_k), groups = static_cast<int>(c_.expert_groups),
            of_a_token = static_cast<int>(c_.groups_per_token);
  const GraphTensorRef routes = b_.add(prefix + ".router", Linear{.out = c_.experts, .has_bias = c_.expert_biases}, {x});
  const Operator scores = c_.sigmoid_router ? Operator(Unary{.kind = Unary::Kind::sigmoid}) : Operator(Softmax{});
  const GraphTensorRef gates = b_.add(prefix + ".routing", scores, {routes});
  // Latent experts: what travels to them and back is narrower than the hidden state.
  const GraphTensorRef seen = c_.expert_latent > 0 ? b_.add(prefix + ".latent_down", Linear{.out = c_.expert_latent}, {x}) : x;
  const GraphTensorRef sent =
      b_.add(prefix + ".dispatch", MoeDispatch{top_k, c_.capacity_factor, groups, of_a_token, c_.expert_imbalance}, {seen, gates});
  const auto linear = [&](const char* name, GraphTensorRef from, std::int64_t out) {
    return b_.add(prefix + name, ExpertLinear{.out = out, .has_bias = c_.expert_biases}, {from});
  };
  GraphTensorRef y = activated(prefix, [&](const char* name) { return linear(name, sent, expert_ffn_size(c_)); });
  y = linear(".down", y, c_.expert_latent > 0 ? c_.expert_latent : c_.hidden);
  y = b_.add(prefix + ".combine", MoeCombine{top_k, c_.capacity_factor, groups, of_a_token, c_.expert_imbalance}, {y, gates});
  if (c_.expert_latent > 0) y = b_.add(prefix + ".latent_up", Linear{.out = c_.hidden}, {y});
  if (c_.shared_ffn > 0) y = add(prefix + ".shared.add", y, shared_expert(prefix + ".shared", x));
  return dropout(prefix + ".dropout", y);
}

// An expert of every token.
GraphTensorRef LayerBuilder::shared_expert(const std::string& prefix, GraphTensorRef x) {
  const GraphTensorRef y = dense(prefix, x, c_.shared_ffn);
  if (!c_.shared_gate) return y;
  const GraphTensorRef route = b_.add(prefix + ".router", Linear{.out = 1}, {x});
  const GraphTensorRef share = b_.add(prefix + ".routing", Unary{.kind = Unary::Kind::sigmoid}, {route});
  return b_.add(prefix + ".scaled", Binary{.kind = Binary::Kind::multiply}, {y, share});
}

GraphTensorRef LayerBuilder::mamba(const std::string& prefix, GraphTensorRef x) {
  const StateSpace core{
      .heads = c_.mamba_heads, .groups = c_.mamba_groups, .state = c_.mamba_state, .kernel = c_.mamba_kernel, .chunk = c_.mamba_chunk};
  x = b_.add(prefix + ".in", Linear{.out = state_space_width(core, c_.mamba_head_dim)}, {x});
  x = b_.add(prefix + ".core", core, {x});
  return b_.add(prefix + ".out", Linear{.out = c_.hidden}, {x});
}

// Norms are named as those of layers of two parts, by the part after them.
GraphTensorRef LayerBuilder::single_part_layer(const std::string& prefix, GraphTensorRef x, LayerPart part) {
  const auto after_norm = [&](const char* name, const char* norm_name, auto&& make) {
    return add(prefix + name + ".residual", x, make(prefix + name, norm(prefix + norm_name, x)));
  };
  switch (part) {
    case LayerPart::mamba: return after_norm(".mamba", ".mamba.norm", [&](const std::string& p, GraphTensorRef y) { return mamba(p, y); });
    case LayerPart::attention:
      return after_norm(".attention", ".norm1", [&](const std::string& p, GraphTensorRef y) { return self_attention(p, y); });
    case LayerPart::mlp: return after_norm(".mlp", ".norm2", [&](const std::string& p, GraphTensorRef y) { return mlp(p, y); });
    case LayerPart::experts: return after_norm(".moe", ".norm2", [&](const std::string& p, GraphTensorRef y) { return mixture(p, y); });
  }
  BASE_CHECK(false, "layer part {}", static_cast<int>(part));
}

GraphTensorRef LayerBuilder::layer(const std::string& prefix, GraphTensorRef x, FeedForward part,
                                   std::optional<GraphTensorRef> position_bias, Reach reach) {
  const bool moe = part == FeedForward::experts;
  const auto before_norm = [&](const char* name, GraphTensorRef y) {
    return c_.sandwich_norm || c_.reordered_norm ? norm(prefix + name, y) : y;
  };
  const auto feed_forward = [&](GraphTensorRef y) {
    return before_norm(".norm2_behind", moe ? mixture(prefix + ".moe", y) : mlp(prefix + ".mlp", y));
  };
  const auto attend = [&](GraphTensorRef y) {
    return before_norm(".norm1_behind", self_attention(prefix + ".attention", y, position_bias, reach));
  };
  const std::string attention = prefix + ".attention";
  const std::string residual = prefix + (moe ? ".moe" : ".mlp") + ".residual";
  if (c_.post_norm) {
    x = norm(prefix + ".norm1", add(attention + ".residual", x, attend(x)));
    return norm(prefix + ".norm2", add(residual, x, feed_forward(x)));
  }
  if (c_.reordered_norm) {
    x = add(attention + ".residual", x, attend(x));
    return add(residual, x, feed_forward(x));
  }
  const GraphTensorRef normed = norm(prefix + ".norm1", x);
  const GraphTensorRef attended = attend(normed);
  if (c_.parallel_residual) {
    const GraphTensorRef fed = feed_forward(c_.single_norm ? normed : norm(prefix + ".norm2", x));
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

void add_classifier(GraphBuilder& b, std::int64_t classes, GraphTensorRef x) {
  const GraphTensorRef logits = b.add("head.classifier", Linear{.out = classes, .has_bias = true}, {x});
  b.add("head.loss", CrossEntropy{}, {logits, b.input("labels", {.sizes = {b.shape(x).sizes[0]}, .element = Element::index})});
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
