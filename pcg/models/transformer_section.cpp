#include "pcg/models/transformer_section.hpp"

#include <fmt/core.h>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {
namespace {

constexpr std::int64_t kMostLayers = 10'000;               // a thousand times deeper than what is trained today
constexpr std::int64_t kMostSize = std::int64_t{1} << 31;  // products of two still fit in 64 bits

const std::vector<std::string> kAttentionKinds{"flash", "unfused"};
const std::vector<std::string> kActivations{"relu", "gelu", "tanh", "sigmoid", "silu"};  // the first of Unary::Kind

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

void read_positions(base::MapReader& r, TransformerConfig& c) {
  if (c.rope) c.positions = -1;
  const base::Yaml* y = r.optional("positions");
  if (!y) return;
  if (y->is_scalar() && y->scalar == "none") c.positions = -1;
  else size(r, "positions", c.positions);
}

void read_experts(base::MapReader& r, TransformerConfig& c) {
  size(r, "experts", c.experts, 0);
  size(r, "top_k", c.top_k, 1, 1 << 20);
  size(r, "expert_every", c.expert_every);
  if (const auto factor = r.number("capacity_factor", 0.01, 1000)) c.capacity_factor = *factor;
}

}  // namespace

void read_overrides(base::MapReader& r, TransformerConfig& c) {
  size(r, "sequence_length", c.sequence_length);
  if (const auto kind = r.choice("attention", kAttentionKinds)) c.attention = static_cast<AttentionKind>(*kind);
  if (const auto rate = r.number("dropout", 0, 1)) c.dropout = *rate;
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
  size(r, "kv_heads", c.kv_heads);
  size(r, "head_dim", c.head_dim);
  size(r, "ffn", c.ffn);
  size(r, "token_types", c.token_types, 0);
  size(r, "embedding_width", c.embedding_width);
  flag(r, "gated", c.gated);
  if (c.gated) c.activation = Unary::Kind::silu;
  if (const auto kind = r.choice("activation", kActivations)) c.activation = static_cast<Unary::Kind>(*kind);
  flag(r, "causal", c.causal);
  flag(r, "rms_norm", c.rms_norm);
  flag(r, "rope", c.rope);
  flag(r, "biases", c.biases);
  flag(r, "qkv_biases", c.qkv_biases);
  flag(r, "tied_embeddings", c.tied_embeddings);
  flag(r, "post_norm", c.post_norm);
  flag(r, "embedding_norm", c.embedding_norm);
  flag(r, "final_norm", c.final_norm);
  flag(r, "parallel_residual", c.parallel_residual);
  flag(r, "head", c.head);
  flag(r, "head_transform", c.head_transform);
  flag(r, "pooler", c.pooler);
  read_positions(r, c);
  read_experts(r, c);
  r.finish();
  if (sink.size() > before) return std::nullopt;
  for (const std::string& problem : problems(c)) sink.add(section.mark, path, problem);
  return sink.size() == before ? std::optional(c) : std::nullopt;
}

}  // namespace pcg::models
