#include <fmt/core.h>

#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {
namespace {

// Qwen: every n-th layer has experts, but for those that are listed. A list of the first layers can be described.
void read_sparse_layers(Config& f, TransformerConfig& c) {
  c.expert_every = f.size("decoder_sparse_step", 1);
  const std::vector<std::string> dense = f.words("mlp_only_layers");
  c.dense_layers = static_cast<std::int64_t>(dense.size());
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (dense[i] != fmt::format("{}", i)) {
      f.reader().complain("mlp_only_layers", "layers without experts that are not the first ones cannot be described yet",
                          "the first layers, as [0, 1], or none");
      return;
    }
}

// `usual`: of the experts.
TransformerConfig read_deepseek(Config& f, const Usual& usual_sizes, const TransformerConfig& usual) {
  TransformerConfig c = read_llama_like(f, usual_sizes);
  c.kv_heads = 0;  // the config lists as many as heads: the up-projection makes them
  c.query_rank = f.size_or_none("q_lora_rank", 1536);
  c.kv_rank = f.size("kv_lora_rank", 512);
  c.head_dim = f.size("qk_nope_head_dim", 128);
  c.rope_dim = f.size("qk_rope_head_dim", 64);
  c.value_dim = f.size("v_head_dim", 128);
  if (f.flag("attention_bias", false)) f.note("the linear layers of attention have no biases (attention_bias)");
  c.experts = f.size_or_none("n_routed_experts", usual.experts);
  c.top_k = f.size("num_experts_per_tok", usual.top_k);
  c.expert_ffn = f.size("moe_intermediate_size", usual.expert_ffn);
  c.shared_ffn = c.expert_ffn * f.size_or_none("n_shared_experts", usual.shared_ffn / usual.expert_ffn);
  c.dense_layers = f.layers("first_k_dense_replace", usual.dense_layers, 0);
  c.expert_every = f.size("moe_layer_freq", 1);
  // Routing by "greedy", DeepSeek-V2's default, has no groups, whatever the config lists.
  c.expert_groups = usual.expert_groups;
  c.groups_per_token = usual.groups_per_token;
  const std::int64_t groups = f.size_or_none("n_group", usual.expert_groups),
                     of_a_token = f.size_or_none("topk_group", usual.groups_per_token);
  if (f.text("topk_method", usual.expert_groups > 1 ? "noaux_tc" : "greedy") != "greedy" && groups > 1) {
    c.expert_groups = groups;
    c.groups_per_token = of_a_token;
  }
  return c;
}

// Where layers with experts are listed, they are the last of every `expert_every`.
void check_expert_layers(Config& f, const TransformerConfig& c) {
  const std::vector<std::string> listed = f.words("moe_layers");
  if (listed.empty()) return;
  bool regular = static_cast<std::int64_t>(listed.size()) == c.layers / c.expert_every;
  for (std::size_t i = 0; i < listed.size(); ++i)
    regular = regular && listed[i] == fmt::format("{}", static_cast<std::int64_t>(i + 1) * c.expert_every - 1);
  if (!regular)
    f.reader().complain("moe_layers", "layers with experts that are not every n-th cannot be described yet",
                        fmt::format("interleave_moe_layer_step is {}", c.expert_every));
}

}  // namespace

ModelConfig read_mixtral(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 8, .ffn = 14336, .positions = 131072});
  c.experts = f.size("num_local_experts", 8);
  c.top_k = f.size("num_experts_per_tok", 2);
  c.window = f.size_or_none("sliding_window", 0);
  return c;
}

ModelConfig read_qwen2_moe(Config& f) {
  TransformerConfig c =
      read_llama_like(f, {.layers = 24, .hidden = 2048, .heads = 16, .kv_heads = 16, .ffn = 5632, .vocab = 151936, .positions = 32768});
  c.qkv_biases = f.flag("qkv_bias", true);
  c.experts = f.size("num_experts", 60);
  c.top_k = f.size("num_experts_per_tok", 4);
  c.expert_ffn = f.size("moe_intermediate_size", 1408);
  c.shared_ffn = f.size("shared_expert_intermediate_size", 5632, 0);
  c.shared_gate = c.shared_ffn > 0;
  read_sparse_layers(f, c);
  read_late_windows(f, c);
  return c;
}

ModelConfig read_qwen3_moe(Config& f) {
  TransformerConfig c = read_llama_like(f, {.layers = 24, .hidden = 2048, .kv_heads = 4, .ffn = 6144, .vocab = 151936, .positions = 32768});
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  c.qk_norm = true;
  c.experts = f.size("num_experts", 128);
  c.top_k = f.size("num_experts_per_tok", 8);
  c.expert_ffn = f.size("moe_intermediate_size", 768);
  read_sparse_layers(f, c);
  read_late_windows(f, c);
  return c;
}

ModelConfig read_deepseek_v2(Config& f) {
  return read_deepseek(f, {.ffn = 11008}, {.experts = 64, .top_k = 6, .expert_ffn = 1407, .shared_ffn = 2 * 1407});
}
ModelConfig read_deepseek_v3(Config& f) {
  TransformerConfig c = read_deepseek(
      f, {.layers = 61, .hidden = 7168, .heads = 128, .ffn = 18432, .vocab = 129280, .positions = 4096},
      {.experts = 256, .top_k = 8, .expert_ffn = 2048, .shared_ffn = 2048, .dense_layers = 3, .expert_groups = 8, .groups_per_token = 4});
  c.sigmoid_router = true;
  c.mtp_layers = f.layers("num_nextn_predict_layers", 0, 0);
  return c;
}

ModelConfig read_gpt_oss(Config& f) {
  TransformerConfig c = read_llama_like(
      f, {.layers = 36, .hidden = 2880, .heads = 64, .kv_heads = 8, .ffn = 2880, .head_dim = 64, .vocab = 201088, .positions = 131072});
  c.qkv_biases = c.out_biases = f.flag("attention_bias", true);
  c.sinks = true;
  c.experts = f.size("num_local_experts", 128);
  c.top_k = f.size("num_experts_per_tok", f.size("experts_per_token", 4));
  c.expert_biases = true;
  c.window = f.size_or_none("sliding_window", 128);
  c.global_every = c.window > 0 ? 2 : 0;
  read_layer_types(f, "layer_types", "sliding_attention", c);
  if (f.given("swiglu_limit")) f.note("gates of experts are plain silu, not clamped (swiglu_limit)");
  return c;
}

// Every n-th layer sees all keys, and has no rotary positions there.
ModelConfig read_llama4(Config& f) {
  TransformerConfig c = read_llama_like(
      f, {.layers = 48, .hidden = 5120, .heads = 40, .kv_heads = 8, .ffn = 8192, .head_dim = 128, .vocab = 202048, .positions = 131072});
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  c.expert_ffn = c.ffn;
  c.shared_ffn = c.ffn;
  c.ffn = f.size("intermediate_size_mlp", 16384);
  c.experts = f.size("num_local_experts", 16);
  c.top_k = f.size("num_experts_per_tok", 1);
  c.expert_every = f.size("interleave_moe_layer_step", 1);
  c.sigmoid_router = true;
  c.window = f.size_or_none("attention_chunk_size", 8192);
  c.chunked = c.window > 0;
  c.global_every = c.chunked ? f.size("no_rope_layer_interval", 4) : 0;
  read_layer_types(f, "no_rope_layers", "1", c);
  read_layer_types(f, "layer_types", "chunked_attention", c);
  if (c.global_every > 0) f.note("rotary positions are in all layers, also in those that see all keys");
  check_expert_layers(f, c);
  if (f.flag("use_qk_norm", true)) f.note("queries and keys are not normalised: their norm has no weights (use_qk_norm)");
  return c;
}

}  // namespace pcg::models
