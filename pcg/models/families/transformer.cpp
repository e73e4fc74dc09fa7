#include "pcg/models/families/transformer.hpp"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

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

// Logits of x and their loss, named "NAME.logits", "NAME.loss", against labels of their own.
void add_prediction(GraphBuilder& b, const TransformerConfig& c, const std::string& name, const std::string& label_name, GraphTensorRef x,
                    GraphTensorRef weight) {
  const std::int64_t batch = b.shape(x).sizes[0];
  x = b.add(name + ".logits", Linear{.out = c.vocab, .has_bias = c.head_transform || c.head_bias, .transposed_weight = c.tied_embeddings},
            {x}, {weight});
  if (c.softcap) x = b.add(name + ".softcap", Unary{.kind = Unary::Kind::tanh}, {x});
  b.add(name + ".loss", CrossEntropy{}, {x, labels(b, label_name, {batch, c.sequence_length})});
}

// Returns the weight of the logits, which all predictions share.
GraphTensorRef add_language_head(GraphBuilder& b, const TransformerConfig& c, GraphTensorRef x, GraphTensorRef table) {
  if (c.head_transform) {
    x = b.add("head.transform", Linear{.out = c.hidden, .has_bias = true}, {x});
    x = b.add("head.transform.activation", Unary{.kind = c.activation}, {x});
    x = b.add("head.transform.norm", LayerNorm{.rms = c.rms_norm}, {x});
  }
  if (c.embedding_width > 0 && c.embedding_width != c.hidden) x = b.add("head.project", Linear{.out = c.embedding_width}, {x});
  const GraphTensorRef weight = c.tied_embeddings ? table : b.weight("head.logits.weight", {.sizes = {b.shape(x).sizes.back(), c.vocab}});
  add_prediction(b, c, "head", "labels", x, weight);
  return weight;
}

// A module of multi-token prediction: the next token's embedding and the hidden states so far, each normalised, make the input of one
// more layer. Embedding and head are the model's own.
GraphTensorRef add_mtp(GraphBuilder& b, const TransformerConfig& c, const std::string& name, GraphTensorRef x, GraphTensorRef table) {
  LayerBuilder layers(b, c);
  const GraphTensorRef tokens = labels(b, name + ".tokens", {b.shape(x).sizes[0], c.sequence_length});
  const GraphTensorRef next = b.add(name + ".embedding", Embedding{.vocabulary = c.vocab, .width = c.hidden}, {tokens}, {table});
  const GraphTensorRef both =
      b.add(name + ".concat", Concat{.axis = -1}, {layers.norm(name + ".embedding_norm", next), layers.norm(name + ".hidden_norm", x)});
  GraphTensorRef y = b.add(name + ".project", Linear{.out = c.hidden}, {both});
  if (c.pattern.empty()) return layers.layer(name, y, feed_forward_of(c, c.layers - 1), {}, reach_of(c, c.layers - 1));
  for (std::size_t i = 0; i < c.mtp_pattern.size(); ++i)
    y = layers.single_part_layer(fmt::format("{}.layer{}", name, i), y, part_of(c.mtp_pattern[i]));
  return y;
}

void add_predictions(GraphBuilder& b, const TransformerConfig& c, GraphTensorRef x, const std::vector<GraphTensorRef>& modules,
                     GraphTensorRef table) {
  const GraphTensorRef weight = add_language_head(b, c, x, table);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string name = fmt::format("mtp{}", i);
    add_prediction(b, c, name, name + ".labels", modules[i], weight);
  }
}

void attention_problems(const TransformerConfig& c, std::vector<std::string>& result) {
  if (c.head_dim == 0 && c.hidden % c.heads != 0)
    result.push_back(fmt::format("hidden {} does not divide into {} heads", c.hidden, c.heads));
  if (c.heads % kv_heads(c) != 0) result.push_back(fmt::format("{} heads do not divide into {} kv_heads", c.heads, kv_heads(c)));
  if (c.kv_rank > 0 && (c.rope_dim == 0 || c.value_dim == 0))
    result.push_back("latent attention (kv_rank) needs rope_dim and value_dim beside head_dim");
  if (c.kv_rank == 0 && (c.query_rank > 0 || c.rope_dim > 0 || c.value_dim > 0))
    result.push_back("query_rank, rope_dim and value_dim are of latent attention, which has a kv_rank");
  if (c.wide_qk_norm && (c.qk_norm || c.kv_rank > 0)) result.push_back("wide_qk_norm excludes qk_norm and kv_rank");
  if (c.kv_rank > 0 && (kv_heads(c) != c.heads || c.qk_norm))
    result.push_back("latent attention has as many heads of keys as of queries, and norms of its own: no kv_heads, no qk_norm");
  if (c.window > 0 && !c.causal) result.push_back("a window is of causal attention");
  if (c.window == 0 && (c.global_every > 0 || c.chunked)) result.push_back("global_every and chunked are of layers with a window");
}

void expert_problems(const TransformerConfig& c, std::vector<std::string>& result) {
  if (c.experts > 0 && c.top_k > c.experts) result.push_back(fmt::format("top_k {} of {} experts", c.top_k, c.experts));
  if (c.experts == 0 &&
      (c.expert_ffn > 0 || c.shared_ffn > 0 || c.dense_layers > 0 || c.expert_biases || c.sigmoid_router || c.expert_latent > 0))
    result.push_back(
        "expert_ffn, shared experts, dense_layers, expert_biases, expert_latent and router are of a mixture, which has experts");
  if (c.experts == 0 && (c.expert_groups > 1 || c.groups_per_token > 1))
    result.push_back("expert_groups and groups_per_token are of a mixture, which has experts");
  else if (c.experts % c.expert_groups != 0)
    result.push_back(fmt::format("{} experts do not divide into {} expert_groups", c.experts, c.expert_groups));
  else if (c.groups_per_token > c.expert_groups)
    result.push_back(fmt::format("groups_per_token {} of {} expert_groups", c.groups_per_token, c.expert_groups));
  else if (c.experts > 0 && c.top_k <= c.experts && c.top_k > c.experts / c.expert_groups * c.groups_per_token)
    result.push_back(fmt::format("top_k {} of the {} experts in {} of {} expert_groups", c.top_k,
                                 c.experts / c.expert_groups * c.groups_per_token, c.groups_per_token, c.expert_groups));
  if (c.expert_imbalance != 1 && c.experts == 0) result.push_back("expert_imbalance is of a mixture, which has experts");
  if (c.expert_imbalance != 1 && c.capacity_factor != 1)
    result.push_back("expert_imbalance is of routing that drops no token, and capacity_factor of routing that does: one of them is 1");
  if (c.shared_gate && c.shared_ffn == 0) result.push_back("shared_gate is of a shared expert, which has a width");
  if (c.dense_layers > c.layers) result.push_back(fmt::format("{} dense_layers of {} layers", c.dense_layers, c.layers));
}

void stack_problems(const TransformerConfig& c, std::vector<std::string>& result) {
  if (c.positions > 0 && c.positions < c.sequence_length)
    result.push_back(fmt::format("sequence_length {} is longer than the table of {} positions", c.sequence_length, c.positions));
  if (c.single_norm && !c.parallel_residual) result.push_back("single_norm is of a parallel_residual, whose parts read the same input");
  if (c.sandwich_norm + c.post_norm + c.reordered_norm > 1)
    result.push_back("post_norm, sandwich_norm and reordered_norm exclude each other");
  if (c.reordered_norm && c.parallel_residual) result.push_back("reordered_norm has no norm before the parts of a parallel_residual");
  if (c.mtp_shared && c.mtp_layers < 2) result.push_back("mtp_shared is of several mtp_layers");
  if (c.mtp_layers > 0 && (!c.head || (c.embedding_width > 0 && c.embedding_width != c.hidden)))
    result.push_back("mtp_layers predict tokens: they need a head, and embeddings as wide as hidden");
}

std::optional<std::string> pattern_problem(const TransformerConfig& c, std::string_view key, const std::string& pattern) {
  const std::size_t wrong = pattern.find_first_not_of(kPatternLetters);
  if (wrong != std::string::npos)
    return fmt::format("{} \"{}\": \"{}\" is no layer; write M (Mamba), * (attention), - (MLP) or E (experts)", key, pattern,
                       pattern[wrong]);
  if (pattern.find('E') != std::string::npos && c.experts == 0)
    return fmt::format("{} has layers of experts (E): experts says how many they are", key);
  if (pattern.find('M') != std::string::npos && c.mamba_heads == 0)
    return fmt::format("{} has Mamba layers (M), which need mamba_heads", key);
  return std::nullopt;
}

void hybrid_problems(const TransformerConfig& c, std::vector<std::string>& result) {
  if (c.pattern.empty()) {
    if (c.mamba_heads > 0 || !c.mtp_pattern.empty()) result.push_back("mamba_heads and mtp_pattern are of a hybrid, which has a pattern");
    return;
  }
  for (const auto& [key, pattern] : {std::pair{"pattern", &c.pattern}, {"mtp_pattern", &c.mtp_pattern}})
    if (auto problem = pattern_problem(c, key, *pattern)) result.push_back(*problem);
  if (c.pattern.size() != static_cast<std::size_t>(c.layers))
    result.push_back(fmt::format("pattern has {} letters for {} layers", c.pattern.size(), c.layers));
  if (c.mtp_layers > 0 && c.mtp_pattern.empty())
    result.push_back("mtp_layers of a hybrid need mtp_pattern, the letters of a module's layers");
  if (c.mamba_heads % c.mamba_groups != 0)
    result.push_back(fmt::format("{} mamba_heads do not divide into {} mamba_groups", c.mamba_heads, c.mamba_groups));
  if (c.dense_layers > 0 || c.expert_every > 1 || c.window > 0 || c.post_norm || c.parallel_residual || c.sandwich_norm || c.reordered_norm)
    result.push_back(
        "a pattern says which layers have experts, and each has one part after its norm: no dense_layers, expert_every, window, "
        "post_norm, parallel_residual, sandwich_norm or reordered_norm");
}

}  // namespace

std::vector<std::string> problems(const TransformerConfig& c) {
  std::vector<std::string> result;
  for (const auto& find_problems : {attention_problems, stack_problems, expert_problems, hybrid_problems}) find_problems(c, result);
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
    const std::string name = fmt::format("layer{}", i);
    if (c.pattern.empty()) x = layers.layer(name, x, feed_forward_of(c, i), {}, reach_of(c, i));
    else x = layers.single_part_layer(name, x, part_of(c.pattern[static_cast<std::size_t>(i)]));
  }
  std::vector<GraphTensorRef> modules;  // what the head reads of each
  GraphTensorRef y = x;
  for (std::int64_t i = 0; i < c.mtp_layers; ++i) {
    b.begin_block(Block{.name = fmt::format("mtp {}", i), .auxiliary = true});
    const std::string name = fmt::format("mtp{}", i);
    if (c.mtp_shared && i > 0) b.share_weights(name, "mtp0");
    y = add_mtp(b, c, name, y, embedded.table);
    modules.push_back(layers.norm(name + ".norm", y));
  }
  b.begin_weightless_block("head");
  if (c.final_norm && !c.post_norm) x = layers.norm("head.norm", x);  // after post-norm layers x is normed already
  if (c.pooler) add_pooler(b, c, batch, x);
  if (c.head) add_predictions(b, c, x, modules, embedded.table);
  return std::move(b).build();
}

}  // namespace pcg::models
