#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"
#include "pcg/models/huggingface/families.hpp"
#include "pcg/models/load.hpp"
#include "pcg/models/model_sections.hpp"

namespace pcg::models {

const std::map<std::string, Builtin, std::less<>>& builtins() {
  static const std::map<std::string, Builtin, std::less<>> all = [] {
    std::map<std::string, Builtin, std::less<>> result;
    for (const auto& [name, config] : published_transformers()) result.emplace(name, config);
    for (const auto& [name, build_it] : unity_networks()) result.emplace(name, build_it);
    for (const auto& [name, build_it] : convolutional_networks()) result.emplace(name, build_it);
    return result;
  }();
  return all;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& [name, builtin] : builtins()) names.push_back(name);
  return names;  // a map is sorted
}

Graph builtin(std::string_view name, std::int64_t batch) {
  const auto found = builtins().find(name);
  BASE_CHECK(found != builtins().end(), "no builtin is called {}", name);
  return graph_of(found->second, batch);
}

Graph graph_of(const Builtin& model, std::int64_t batch) {
  if (const ModelConfig* config = std::get_if<ModelConfig>(&model)) return build(*config, batch);
  return std::get<GraphOf>(model)(batch);
}

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
  if (r.has("experts")) return;
  for (const char* key : {"top_k", "expert_every", "expert_ffn", "shared_experts", "capacity_factor"})
    if (r.has(key)) r.complain(key, "the model has no experts", "write experts, too");
}

// The names of papers for a gated layer.
void refuse_gated_name(base::MapReader& r) {
  const base::Yaml* y = r.optional("activation");
  for (const auto& [name, activation] : {std::pair("swiglu", "silu"), {"geglu", "gelu"}, {"reglu", "relu"}})
    if (y != nullptr && y->scalar == name)
      r.complain("activation", fmt::format("{} is a gated {}", name, activation),
                 fmt::format("write gated: true, activation: {}", activation));
}

using base::Yaml;

const std::map<std::string, Family*, std::less<>> kReaders{{"bert", read_bert},
                                                           {"deepseek_v2", read_deepseek_v2},
                                                           {"deepseek_v3", read_deepseek_v3},
                                                           {"falcon", read_falcon},
                                                           {"gemma", read_gemma},
                                                           {"gemma2", read_gemma2},
                                                           {"gemma3", read_gemma3},
                                                           {"gemma3_text", read_gemma3},
                                                           {"gpt2", read_gpt2},
                                                           {"gpt_neox", read_gpt_neox},
                                                           {"gpt_oss", read_gpt_oss},
                                                           {"kimi_k2", read_deepseek_v3},
                                                           {"llama", read_llama},
                                                           {"llama4", read_llama4},
                                                           {"llama4_text", read_llama4},
                                                           {"mistral", read_mistral},
                                                           {"mixtral", read_mixtral},
                                                           {"nemotron", read_nemotron},
                                                           {"nemotron_h", read_nemotron_h},
                                                           {"opt", read_opt},
                                                           {"phi3", read_phi3},
                                                           {"qwen2", read_qwen2},
                                                           {"qwen2_moe", read_qwen2_moe},
                                                           {"qwen3", read_qwen3},
                                                           {"qwen3_moe", read_qwen3_moe},
                                                           {"t5", read_t5},
                                                           {"vit", read_vit}};

// Models of text and images keep the text's part by itself.
const Yaml* text_part(const Yaml& document) {
  const Yaml* text = document.is_map() ? document.find("text_config") : nullptr;
  return text != nullptr && text->is_map() ? text : nullptr;
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
  const std::size_t before_name = sink.size();
  refuse_gated_name(r);
  if (sink.size() == before_name)
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

std::optional<HuggingFaceModel> read_huggingface(const Yaml& document, const std::string& name, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  Config whole(document, "", sink);
  whole.reader().require("model_type");
  const std::string type = whole.text("model_type", "");
  const auto found = kReaders.find(type);
  if (found == kReaders.end()) {
    std::vector<std::string> known;
    for (const auto& [family, reader] : kReaders) known.push_back(family);
    if (sink.size() == before)
      whole.reader().complain("model_type",
                              type.empty() ? "names no family" : fmt::format("\"{}\" is not a family that is known here", type),
                              fmt::format("one of: {}", fmt::join(known, ", ")));
    return std::nullopt;
  }
  const Yaml* text = text_part(document);
  Config f(text != nullptr ? *text : document, text != nullptr ? "text_config" : "", sink);
  if (text != nullptr) f.note("the model is the language model of text_config, without what reads images");
  HuggingFaceModel model{found->second(f), f.notes()};
  TransformerConfig& layers = layers_of(model.config);
  layers.name = name;
  if (sink.size() == before)
    for (const std::string& problem : problems(layers)) sink.add(document.mark, "", problem);
  return sink.size() == before ? std::optional(model) : std::nullopt;
}

}  // namespace pcg::models
