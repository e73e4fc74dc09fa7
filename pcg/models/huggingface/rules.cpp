// What no row of families.yaml can say.
#include <fmt/core.h>

#include <map>

#include "base/check.hpp"
#include "pcg/models/families/layers.hpp"
#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {
namespace {

// Qwen: layers from max_window_layers on have the window, where windows are used. Refuses windows on some of the layers.
void late_windows(Config& f, TransformerConfig& c) {
  const std::int64_t window = f.given("sliding_window") ? f.size("sliding_window", 4096, 0) : 0, first = f.size("max_window_layers", 28, 0);
  if (!f.flag("use_sliding_window", false)) return;
  if (first == 0) c.window = window;
  else if (first < c.layers)
    f.reader().complain("max_window_layers", fmt::format("windows from layer {} on cannot be described yet", first),
                        "write 0, or all layers");
}

// Routing by "greedy", DeepSeek-V2's default, has no groups, whatever the config lists.
void greedy(Config& f, TransformerConfig& c) {
  const std::string method = f.text("topk_method", c.sigmoid_router ? "noaux_tc" : "greedy");
  if (method == "greedy" || c.expert_groups < 2) c.expert_groups = c.groups_per_token = 1;
}

void multi_query(Config& f, TransformerConfig& c) {
  const std::int64_t heads = f.size(f.given("n_head_kv") ? "n_head_kv" : "num_kv_heads", c.heads);
  c.kv_heads = f.flag("new_decoder_architecture", false) ? heads : f.flag("multi_query", true) ? 1 : c.heads;
}

// One norm serves both parts of a parallel layer, unless the newer architecture has two.
void falcon(Config& f, TransformerConfig& c) {
  const bool newer = f.flag("new_decoder_architecture", false);
  c.rope = !f.flag("alibi", false);
  c.parallel_residual = f.flag("parallel_attn", true) || newer;
  c.single_norm = c.parallel_residual && f.size("num_ln_in_parallel_attn", newer ? 2 : 1) == 1;
}

void opt(Config& f, TransformerConfig& c) {
  c.positions = c.sequence_length + 2;  // OPTLearnedPositionalEmbedding keeps two rows before the first position
  c.post_norm = !f.flag("do_layer_norm_before", true);
  c.final_norm = !f.flag("_remove_final_layer_norm", false);
}

// A list of layers' kinds, as letters, goes before the pattern, as transformers reads them.
std::string pattern_of(Config& f, std::string_view list, std::string_view text) {
  static const std::map<std::string, char, std::less<>> letters{
      {"mamba", 'M'}, {"linear_attention", 'M'}, {"attention", '*'}, {"full_attention", '*'}, {"mlp", '-'}, {"moe", 'E'}};
  std::string pattern;
  for (const std::string& word : f.words(list)) {
    const auto at = letters.find(word);
    if (at == letters.end())
      f.reader().complain(list, fmt::format("\"{}\" is no layer that is known here", word), "one of: mamba, attention, mlp, moe");
    else pattern += at->second;
  }
  const std::string written = f.text(text, "");
  return pattern.empty() ? written : pattern;
}

void hybrid(Config& f, TransformerConfig& c) {
  c.pattern = pattern_of(f, "layers_block_type", "hybrid_override_pattern");
  if (c.pattern.empty())
    f.reader().complain("hybrid_override_pattern", "missing key \"hybrid_override_pattern\"", "write it, or layers_block_type");
  c.layers = static_cast<std::int64_t>(c.pattern.size());
  (void)f.given("num_hidden_layers");  // not read there
  (void)f.given("expand");             // the heads say how wide a layer is inside
  c.mtp_pattern = pattern_of(f, "mtp_layers_block_type", "mtp_hybrid_override_pattern");
  if (c.mtp_pattern.empty()) c.mtp_pattern = "*E";
  if (c.mtp_layers == 0) c.mtp_pattern.clear();
  if (f.size("n_shared_experts", 1, 0) == 0) c.shared_ffn = 0;
  if ((c.pattern + c.mtp_pattern).find('E') == std::string::npos) {
    c.experts = c.expert_ffn = c.shared_ffn = c.expert_latent = 0;
    c.sigmoid_router = false;
    c.expert_groups = c.groups_per_token = 1;
  }
  if (c.pattern.find('M') == std::string::npos) c.mamba_heads = 0;
}

void all_mamba(Config& f, TransformerConfig& c) {
  c.pattern = std::string(static_cast<std::size_t>(c.layers), 'M');
  (void)f.given("expand");
}

// Which layers are windowed, by a word of each.
void read_layer_types(Config& f, std::string_view key, std::string_view windowed, TransformerConfig& c) {
  const std::vector<std::string> types = f.words(key);
  if (types.empty() || c.window == 0) return;
  if (static_cast<std::int64_t>(types.size()) != c.layers) {
    f.reader().complain(key, fmt::format("lists {} layers of {}", types.size(), c.layers));
    return;
  }
  for (c.global_every = 0; c.global_every <= c.layers; ++c.global_every) {
    bool is_it = true;
    for (std::int64_t i = 0; i < c.layers && is_it; ++i)
      is_it = (reach_of(c, i) == Reach::window) == types[static_cast<std::size_t>(i)].starts_with(windowed);
    if (is_it) return;
  }
  f.reader().complain(key, "layers with and without a window follow no pattern that can be described yet",
                      "every n-th layer sees all keys");
}

// The number of classes is num_labels, or what id2label lists, or 2 (PretrainedConfig).
std::int64_t class_count(Config& f) {
  const base::Yaml* labels = f.reader().optional("id2label");
  const std::int64_t listed = labels && labels->is_map() ? static_cast<std::int64_t>(labels->entries.size()) : 2;
  return f.size("num_labels", listed);
}

}  // namespace

Rule* rule(std::string_view name) {
  static const std::map<std::string_view, Rule*> all{{"late_windows", late_windows},
                                                     {"greedy", greedy},
                                                     {"multi_query", multi_query},
                                                     {"falcon", falcon},
                                                     {"opt", opt},
                                                     {"hybrid", hybrid},
                                                     {"all_mamba", all_mamba}};
  const auto at = all.find(name);
  BASE_CHECK(at != all.end(), "families.yaml has no rule {}", name);
  return at->second;
}

void read_layer_lists(Config& f, TransformerConfig& c) {
  for (const std::string& type : f.words("layer_types"))
    if (type != "full_attention" && type != "sliding_attention" && type != "chunked_attention") {
      f.reader().complain("layer_types", fmt::format("layers of {} cannot be described yet", type));
      return;
    }
  if (c.chunked) read_layer_types(f, "no_rope_layers", "1", c);
  read_layer_types(f, "layer_types", c.chunked ? "chunked" : "sliding", c);
  for (const std::string& type : f.words("attn_type_list"))
    if (type != "1") return f.reader().complain("attn_type_list", "layers of linear attention cannot be described yet");
  // Qwen: every n-th layer has experts, but for those that are listed. A list of the first layers can be described.
  const std::vector<std::string> dense = f.words("mlp_only_layers"), mixed = f.words("moe_layers");
  for (std::size_t i = 0; i < dense.size(); ++i, ++c.dense_layers)
    if (dense[i] != fmt::format("{}", i))
      return f.reader().complain("mlp_only_layers", "layers without experts that are not the first ones cannot be described yet",
                                 "the first layers, as [0, 1], or none");
  // Llama 4: where layers with experts are listed, they are the last of every `expert_every`.
  bool regular = mixed.empty() || static_cast<std::int64_t>(mixed.size()) == c.layers / c.expert_every;
  for (std::size_t i = 0; i < mixed.size(); ++i)
    regular = regular && mixed[i] == fmt::format("{}", static_cast<std::int64_t>(i + 1) * c.expert_every - 1);
  if (!regular)
    f.reader().complain("moe_layers", "layers with experts that are not every n-th cannot be described yet",
                        fmt::format("interleave_moe_layer_step is {}", c.expert_every));
}

ModelConfig masked_model(Config& f, TransformerConfig c) {
  const std::string architecture = f.architecture("ForPreTraining");
  c.head = c.head_transform = architecture != "Model";
  c.pooler = architecture == "Model" || architecture == "ForPreTraining";
  return c;
}

// What is_gated_act and dense_act_fn say goes before feed_forward_proj, which they are made of (T5Config).
ModelConfig encoder_decoder_model(Config& f, TransformerConfig c) {
  const std::string projection = f.text("feed_forward_proj", "relu");
  const std::string word = projection.substr(projection.starts_with("gated-") ? 6 : 0);
  if (word != "relu" && word != "gelu" && word != "silu")
    f.reader().complain("feed_forward_proj", fmt::format("\"{}\" is not known", projection), "one of: relu, gelu, gated-gelu, gated-silu");
  else c.activation = f.function("dense_act_fn", *activation_called(word));
  c.gated = f.flag("is_gated_act", projection.starts_with("gated-"));
  const std::int64_t layers = f.size("num_decoder_layers", c.layers, 1, kMostLayers);
  return EncoderDecoderConfig{std::move(c), layers, f.size("relative_attention_num_buckets", 32)};
}

ModelConfig image_model(Config& f, TransformerConfig c) {
  c.pooler = f.architecture("ForImageClassification") == "Model";
  VisionConfig v{std::move(c)};
  v.classes = v.layers.pooler ? 0 : class_count(f);
  v.image_size = f.size("image_size", 224);
  v.patch_size = f.size("patch_size", 16);
  v.channels = f.size("num_channels", 3);
  if (v.image_size < v.patch_size)
    f.reader().complain("patch_size", fmt::format("a patch of {} is larger than the image, {}", v.patch_size, v.image_size));
  return v;
}

}  // namespace pcg::models
