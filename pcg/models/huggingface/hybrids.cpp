// Hybrids of Mamba layers, attention, MLPs and experts.

#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {
namespace {

// A list of layers' kinds, as letters; nothing where the key is absent.
std::string letters_of(Config& f, std::string_view key) {
  std::string letters;
  for (const std::string& word : f.words(key)) {
    if (word == "mamba" || word == "linear_attention") letters += 'M';
    else if (word == "attention" || word == "full_attention") letters += '*';
    else if (word == "mlp") letters += '-';
    else if (word == "moe") letters += 'E';
    else f.reader().complain(key, fmt::format("\"{}\" is no layer that is known here", word), "one of: mamba, attention, mlp, moe");
  }
  return letters;
}

// The list goes before the pattern, as transformers reads them.
std::string pattern_of(Config& f, std::string_view list, std::string_view text, const std::string& usual) {
  const std::string letters = letters_of(f, list), pattern = f.text(text, usual);
  return letters.empty() ? pattern : letters;
}

void read_mamba(Config& f, TransformerConfig& c) {
  c.mamba_heads = f.size("mamba_num_heads", 128);
  c.mamba_head_dim = f.size("mamba_head_dim", 64);
  c.mamba_groups = f.size("mamba_n_groups", f.size("n_groups", 8));
  c.mamba_state = f.size("ssm_state_size", 128);
  c.mamba_kernel = f.size("mamba_d_conv", f.size("conv_kernel", 4));
  c.mamba_chunk = f.size("mamba_chunk_size", f.size("chunk_size", 128));
  (void)f.given("expand");  // the heads say how wide a layer is inside
  if (f.flag("mamba_proj_bias", false)) f.note("the projections of Mamba layers have no biases (mamba_proj_bias)");
  if (!f.flag("use_conv_bias", true)) f.note("the convolutions of Mamba layers have biases (use_conv_bias)");
}

void read_experts(Config& f, TransformerConfig& c) {
  c.experts = f.size("n_routed_experts", 8);
  c.top_k = f.size("num_experts_per_tok", 2);
  c.expert_ffn = f.size("moe_intermediate_size", 7688);
  c.shared_ffn = f.size("n_shared_experts", 1, 0) > 0 ? f.size("moe_shared_expert_intermediate_size", 7688) : 0;
  c.expert_latent = f.size_or_none("moe_latent_size", 0);
  c.sigmoid_router = true;
  c.expert_groups = f.size("n_group", 1);
  c.groups_per_token = f.size("topk_group", 1);
}

}  // namespace

// Attention there has no positions.
ModelConfig read_nemotron_h(Config& f) {
  TransformerConfig c = read_llama_like(f, {.layers = 52,
                                            .hidden = 4096,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .ffn = 21504,
                                            .head_dim = f.size("attention_head_dim", 128),
                                            .vocab = 131072,
                                            .sequence_length = 4096,
                                            .tied_embeddings = false});
  c.rope = c.gated = false;
  c.activation = f.function("mlp_hidden_act", "relu2");
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  c.mlp_biases = f.flag("mlp_bias", false);
  c.pattern = pattern_of(f, "layers_block_type", "hybrid_override_pattern", "ME*-");
  c.layers = static_cast<std::int64_t>(c.pattern.size());  // num_hidden_layers is not read there
  c.mtp_layers = f.layers("num_nextn_predict_layers", 0, 0);
  c.mtp_pattern = pattern_of(f, "mtp_layers_block_type", "mtp_hybrid_override_pattern", "*E");
  if (c.mtp_layers == 0) c.mtp_pattern.clear();
  read_mamba(f, c);
  if ((c.pattern + c.mtp_pattern).find('E') != std::string::npos) read_experts(f, c);
  if (c.pattern.find('M') == std::string::npos) c.mamba_heads = 0;
  return c;
}

}  // namespace pcg::models
