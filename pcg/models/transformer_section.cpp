#include "pcg/models/model_sections.hpp"

#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {
namespace {

const std::vector<std::string> kAttentionKinds{"flash", "unfused"};
const std::vector<std::string> kActivations{"relu", "gelu", "tanh", "sigmoid", "silu", "relu2"};
constexpr Unary::Kind kKinds[] = {Unary::Kind::relu,    Unary::Kind::gelu, Unary::Kind::tanh,
                                  Unary::Kind::sigmoid, Unary::Kind::silu, Unary::Kind::relu2};  // by the words of kActivations
const std::vector<std::string> kRouters{"softmax", "sigmoid"};

void size(base::MapReader& r, std::string_view key, std::int64_t& into, std::int64_t least = 1, std::int64_t most = kMostSize) {
  if (const auto value = r.integer(key, least, most)) into = *value;
}
void required_size(base::MapReader& r, std::string_view key, std::int64_t& into, std::int64_t most = kMostSize) {
  r.require(key);
  size(r, key, into, 1, most);
}
void flag(base::MapReader& r, std::string_view key, bool& into) {
  if (const auto value = r.boolean(key)) into = *value;
}

void read_attention(base::MapReader& r, TransformerConfig& c) {
  size(r, "kv_heads", c.kv_heads);
  size(r, "head_dim", c.head_dim);
  size(r, "query_rank", c.query_rank, 0);
  size(r, "kv_rank", c.kv_rank, 0);
  size(r, "rope_dim", c.rope_dim, 0);
  size(r, "value_dim", c.value_dim, 0);
  flag(r, "qk_norm", c.qk_norm);
  flag(r, "repeated_keys", c.repeated_keys);
  flag(r, "sinks", c.sinks);
  size(r, "window", c.window, 0);
  size(r, "global_every", c.global_every, 0);
  flag(r, "chunked", c.chunked);
}

void read_hybrid(base::MapReader& r, TransformerConfig& c) {
  c.pattern = r.text("pattern").value_or("");
  c.mtp_pattern = r.text("mtp_pattern").value_or("");
  size(r, "mamba_heads", c.mamba_heads);
  size(r, "mamba_head_dim", c.mamba_head_dim);
  size(r, "mamba_groups", c.mamba_groups);
  size(r, "mamba_state", c.mamba_state);
  size(r, "mamba_kernel", c.mamba_kernel, 1, 1 << 20);
  size(r, "mamba_chunk", c.mamba_chunk, 1, 1 << 20);
}

void read_positions(base::MapReader& r, TransformerConfig& c) {
  if (c.rope) c.positions = -1;
  const base::Yaml* y = r.optional("positions");
  if (!y) return;
  if (y->is_scalar() && y->scalar == "none") c.positions = -1;
  else size(r, "positions", c.positions);
}

// By width, or by how many of the experts' width there are.
void read_shared_expert(base::MapReader& r, TransformerConfig& c) {
  size(r, "shared_ffn", c.shared_ffn, 0);
  std::int64_t count = 0;
  size(r, "shared_experts", count, 0, 1 << 20);
  if (r.has("shared_experts") && r.has("shared_ffn")) r.complain("shared_experts", "shared_ffn is given, too", "write one of them");
  if (count > 0) c.shared_ffn = count * expert_ffn_size(c);
  flag(r, "shared_gate", c.shared_gate);
}

void read_experts(base::MapReader& r, TransformerConfig& c) {
  size(r, "experts", c.experts, 0);
  size(r, "top_k", c.top_k, 1, 1 << 20);
  size(r, "expert_every", c.expert_every);
  size(r, "expert_ffn", c.expert_ffn);
  size(r, "expert_latent", c.expert_latent, 0);
  size(r, "dense_layers", c.dense_layers, 0, kMostLayers);
  flag(r, "expert_biases", c.expert_biases);
  if (const auto kind = r.choice("router", kRouters)) c.sigmoid_router = *kind == 1;
  size(r, "expert_groups", c.expert_groups, 1, 1 << 20);
  if (r.has("expert_groups")) r.require("groups_per_token");
  size(r, "groups_per_token", c.groups_per_token, 1, 1 << 20);
  read_shared_expert(r, c);
  if (const auto factor = r.number("capacity_factor", 0.01, 1000)) c.capacity_factor = *factor;
}

}  // namespace

void read_overrides(base::MapReader& r, TransformerConfig& c) {
  size(r, "sequence_length", c.sequence_length);
  if (const auto kind = r.choice("attention", kAttentionKinds)) c.attention = static_cast<AttentionKind>(*kind);
  if (const auto rate = r.number("dropout", 0, 1)) c.dropout = *rate;
  if (const auto most = r.number("expert_imbalance", 1, 1000)) c.expert_imbalance = *most;
}

std::optional<TransformerConfig> read_transformer(const base::Yaml& section, const std::string& path, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  base::MapReader r(section, path, sink);
  TransformerConfig c;
  c.name = r.text("name").value_or(c.name);
  required_size(r, "layers", c.layers, kMostLayers);
  required_size(r, "hidden", c.hidden);
  required_size(r, "heads", c.heads);
  required_size(r, "vocab", c.vocab);
  r.require("sequence_length");
  read_overrides(r, c);
  read_attention(r, c);
  size(r, "ffn", c.ffn);
  size(r, "token_types", c.token_types, 0);
  size(r, "embedding_width", c.embedding_width);
  flag(r, "gated", c.gated);
  if (c.gated) c.activation = Unary::Kind::silu;
  if (const auto kind = r.choice("activation", kActivations)) c.activation = kKinds[*kind];
  flag(r, "causal", c.causal);
  flag(r, "rms_norm", c.rms_norm);
  flag(r, "rope", c.rope);
  flag(r, "biases", c.biases);
  flag(r, "qkv_biases", c.qkv_biases);
  flag(r, "out_biases", c.out_biases);
  flag(r, "mlp_biases", c.mlp_biases);
  flag(r, "tied_embeddings", c.tied_embeddings);
  flag(r, "post_norm", c.post_norm);
  flag(r, "embedding_norm", c.embedding_norm);
  flag(r, "final_norm", c.final_norm);
  flag(r, "parallel_residual", c.parallel_residual);
  flag(r, "single_norm", c.single_norm);
  flag(r, "sandwich_norm", c.sandwich_norm);
  flag(r, "softcap", c.softcap);
  flag(r, "head", c.head);
  flag(r, "head_transform", c.head_transform);
  flag(r, "pooler", c.pooler);
  size(r, "mtp_layers", c.mtp_layers, 0, kMostLayers);
  flag(r, "mtp_shared", c.mtp_shared);
  read_hybrid(r, c);
  read_positions(r, c);
  read_experts(r, c);
  r.finish();
  if (sink.size() > before) return std::nullopt;
  for (const std::string& problem : problems(c)) sink.add(section.mark, path, problem);
  return sink.size() == before ? std::optional(c) : std::nullopt;
}

}  // namespace pcg::models
