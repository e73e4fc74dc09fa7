// Decoders with layer norms, encoders, encoders with decoders, and hybrids of Mamba layers, attention, MLPs and experts.
#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/huggingface/config.hpp"
#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {

ModelConfig read_gpt2(Config& f) {
  TransformerConfig c = read_decoder(
      f, {.layers = 12, .hidden = 768, .heads = 12, .vocab = 50257, .positions = 1024, .activation = Unary::Kind::gelu, .tied = true},
      {.layers = "n_layer",
       .hidden = "n_embd",
       .heads = "n_head",
       .ffn = "n_inner",
       .positions = "n_positions",
       .activation = "activation_function"});
  c.positions = c.sequence_length;
  c.dropout = f.rate("resid_pdrop", 0.1);
  return c;
}

ModelConfig read_opt(Config& f) {
  TransformerConfig c = read_decoder(
      f, {.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .vocab = 50272, .activation = Unary::Kind::relu, .tied = true},
      {.ffn = "ffn_dim", .activation = "activation_function"});
  c.positions = c.sequence_length + 2;  // OPTLearnedPositionalEmbedding keeps two rows before the first position
  c.embedding_width = f.size("word_embed_proj_dim", c.hidden);
  c.dropout = f.rate("dropout", 0.1);
  c.biases = f.flag("enable_bias", true);
  c.post_norm = !f.flag("do_layer_norm_before", true);
  c.final_norm = !f.flag("_remove_final_layer_norm", false);
  return c;
}

ModelConfig read_gpt_neox(Config& f) {
  TransformerConfig c =
      read_decoder(f, {.layers = 44, .hidden = 6144, .heads = 64, .ffn = 24576, .vocab = 50432, .activation = Unary::Kind::gelu});
  c.dropout = f.rate("hidden_dropout", 0.0);
  c.rope = true;
  c.parallel_residual = f.flag("use_parallel_residual", true);
  return c;
}

// One norm serves both parts of a parallel layer, unless the newer architecture has two.
ModelConfig read_falcon(Config& f) {
  TransformerConfig c = read_decoder(f, {.hidden = 4544, .heads = 71, .vocab = 65024, .activation = Unary::Kind::gelu, .tied = true},
                                     {.ffn = "ffn_hidden_size", .activation = "activation"});
  const bool newer = f.flag("new_decoder_architecture", false);
  const std::int64_t heads = f.size("num_kv_heads", c.heads);
  c.kv_heads = newer ? heads : f.flag("multi_query", true) ? 1 : c.heads;
  c.dropout = f.rate("hidden_dropout", 0.0);
  c.biases = f.flag("bias", false);
  c.rope = !f.flag("alibi", false);
  if (!c.rope) f.note("distances between positions (alibi) are added to no scores");
  c.parallel_residual = f.flag("parallel_attn", true) || newer;
  c.single_norm = c.parallel_residual && f.size("num_ln_in_parallel_attn", newer ? 2 : 1) == 1;
  return c;
}

ModelConfig read_nemotron(Config& f) {
  TransformerConfig c =
      read_llama_like(f, {.hidden = 6144, .heads = 48, .ffn = 24576, .vocab = 256000, .positions = 4096, .activation = Unary::Kind::relu2});
  c.rms_norm = c.gated = false;
  read_biases(f, c);
  return c;
}

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

// The number of classes is num_labels, or what id2label lists, or 2 (PretrainedConfig).
std::int64_t class_count(Config& f) {
  const base::Yaml* labels = f.reader().optional("id2label");
  const std::int64_t listed = labels && labels->is_map() ? static_cast<std::int64_t>(labels->entries.size()) : 2;
  return f.size("num_labels", listed);
}

}  // namespace

// Attention there has no positions.
ModelConfig read_nemotron_h(Config& f) {
  const std::int64_t head_dim = f.size("attention_head_dim", 128);
  TransformerConfig c =
      read_llama_like(f, {.layers = 52, .kv_heads = 8, .ffn = 21504, .head_dim = head_dim, .vocab = 131072, .positions = 4096});
  c.rope = c.gated = false;
  c.activation = f.function("mlp_hidden_act", Unary::Kind::relu2);
  read_biases(f, c);
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

ModelConfig read_bert(Config& f) {
  TransformerConfig c = read_stack(
      f, {.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .vocab = 30522, .positions = 512, .activation = Unary::Kind::gelu});
  c.positions = c.sequence_length;
  c.token_types = f.size("type_vocab_size", 2, 0);
  c.dropout = f.rate("hidden_dropout_prob", 0.1);
  c.causal = false;
  c.post_norm = c.embedding_norm = true;
  const std::string architecture = f.architecture("ForPreTraining");
  c.head = c.head_transform = architecture != "Model";
  c.pooler = architecture == "Model" || architecture == "ForPreTraining";
  return c;
}

ModelConfig read_t5(Config& f) {
  EncoderDecoderConfig c{
      .layers = read_decoder(f, {.layers = 6, .hidden = 512, .heads = 8, .ffn = 2048, .vocab = 32128, .positions = 512, .tied = true},
                             {.layers = "num_layers",
                              .hidden = "d_model",
                              .heads = "num_heads",
                              .ffn = "d_ff",
                              .positions = "n_positions",
                              .activation = ""})};
  TransformerConfig& l = c.layers;
  l.head_dim = f.size("d_kv", 64);
  l.dropout = f.rate("dropout_rate", 0.1);
  l.rms_norm = true;
  l.biases = false;
  const std::string projection = f.text("feed_forward_proj", "relu");
  l.gated = projection.starts_with("gated-");
  if (projection != "relu" && projection != "gated-gelu" && projection != "gated-silu" && projection != "gelu")
    f.reader().complain("feed_forward_proj", fmt::format("\"{}\" is not known", projection), "one of: relu, gelu, gated-gelu, gated-silu");
  l.activation = projection.ends_with("gelu") ? Unary::Kind::gelu : projection.ends_with("silu") ? Unary::Kind::silu : Unary::Kind::relu;
  c.decoder_layers = f.layers("num_decoder_layers", l.layers);
  c.position_buckets = f.size("relative_attention_num_buckets", 32);
  return c;
}

ModelConfig read_vit(Config& f) {
  VisionConfig c{.layers = read_stack(
                     f,
                     {.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, .vocab = 1, .positions = 1, .activation = Unary::Kind::gelu},
                     {.vocab = "", .positions = ""})};
  TransformerConfig& l = c.layers;
  l.dropout = f.rate("hidden_dropout_prob", 0.0);
  l.causal = false;
  if (!f.flag("qkv_bias", true))
    f.reader().complain("qkv_bias", "a ViT without biases on queries, keys and values cannot be described yet");
  l.pooler = f.architecture("ForImageClassification") == "Model";
  c.classes = l.pooler ? 0 : class_count(f);
  c.image_size = f.size("image_size", 224);
  c.patch_size = f.size("patch_size", 16);
  c.channels = f.size("num_channels", 3);
  if (c.image_size < c.patch_size)
    f.reader().complain("patch_size", fmt::format("a patch of {} is larger than the image, {}", c.patch_size, c.image_size));
  return c;
}

}  // namespace pcg::models
