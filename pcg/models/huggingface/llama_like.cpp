// The keys that all families have; Llama and those who follow it.

#include <fmt/core.h>

#include "pcg/models/families/layers.hpp"
#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {

TransformerConfig read_stack(Config& f, const Usual& usual, const Keys& keys) {
  const auto size = [&](std::string_view key, std::int64_t otherwise) { return key.empty() ? otherwise : f.size(key, otherwise); };
  TransformerConfig c{.layers = f.layers(keys.layers, usual.layers),
                      .hidden = f.size(keys.hidden, usual.hidden),
                      .heads = f.size(keys.heads, usual.heads),
                      .ffn = f.size(keys.ffn, usual.ffn),
                      .vocab = size(keys.vocab, usual.vocab),
                      .sequence_length = size(keys.positions, usual.positions),
                      .positions = -1};
  c.activation = keys.activation.empty() ? usual.activation : f.function(keys.activation, usual.activation);
  return c;
}

TransformerConfig read_decoder(Config& f, const Usual& usual, const Keys& keys) {
  TransformerConfig c = read_stack(f, usual, keys);
  c.tied_embeddings = f.flag("tie_word_embeddings", usual.tied);
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}

// These families train without hidden dropout: there is no key for it.
TransformerConfig read_llama_like(Config& f, const Usual& usual) {
  TransformerConfig c = read_decoder(f, usual);
  c.kv_heads = f.size("num_key_value_heads", usual.kv_heads > 0 ? usual.kv_heads : c.heads);
  c.head_dim = f.size("head_dim", usual.head_dim);
  c.rms_norm = c.rope = c.gated = true;
  c.biases = false;
  return c;
}

void read_biases(Config& f, TransformerConfig& c) {
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  c.mlp_biases = f.flag("mlp_bias", false);
}

void read_layer_types(Config& f, std::string_view key, std::string_view windowed, TransformerConfig& c) {
  const std::vector<std::string> types = f.words(key);
  if (types.empty() || c.window == 0) return;
  if (static_cast<std::int64_t>(types.size()) != c.layers) {
    f.reader().complain(key, fmt::format("lists {} layers of {}", types.size(), c.layers));
    return;
  }
  const auto is_it = [&](std::int64_t every) {
    TransformerConfig tried = c;
    tried.global_every = every;
    for (std::int64_t i = 0; i < c.layers; ++i)
      if ((reach_of(tried, i) == Reach::window) != (types[static_cast<std::size_t>(i)] == windowed)) return false;
    return true;
  };
  for (std::int64_t every = 0; every <= c.layers; ++every) {
    if (!is_it(every)) continue;
    c.global_every = every;
    return;
  }
  f.reader().complain(key, "layers with and without a window follow no pattern that can be described yet",
                      "every n-th layer sees all keys");
}

void read_late_windows(Config& f, TransformerConfig& c) {
  const std::int64_t window = f.size_or_none("sliding_window", 4096);
  const std::int64_t first = f.size("max_window_layers", 28, 0);
  if (!f.flag("use_sliding_window", false)) return;
  if (first == 0) c.window = window;
  else if (first < c.layers)
    f.reader().complain("max_window_layers", fmt::format("windows from layer {} on cannot be described yet", first),
                        "write 0, or all layers");
}

ModelConfig read_llama(Config& f) {
  TransformerConfig c = read_llama_like(f, {.ffn = 11008});
  read_biases(f, c);
  return c;
}
ModelConfig read_mistral(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 8, .ffn = 14336, .positions = 131072});
  c.window = f.size_or_none("sliding_window", 4096);
  return c;
}
ModelConfig read_qwen2(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 32, .ffn = 22016, .vocab = 151936, .positions = 32768});
  c.qkv_biases = true;
  read_late_windows(f, c);
  return c;
}
ModelConfig read_qwen3(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 32, .ffn = 22016, .head_dim = 128, .vocab = 151936, .positions = 32768});
  read_biases(f, c);
  c.qk_norm = true;
  read_late_windows(f, c);
  return c;
}
ModelConfig read_phi3(Config& f) {
  TransformerConfig c = read_llama_like(f, {.hidden = 3072, .ffn = 8192, .vocab = 32064, .positions = 4096});
  c.dropout = f.rate("resid_pdrop", 0);
  c.window = f.size_or_none("sliding_window", 0);
  return c;
}

namespace {

// Embeddings are scaled by the root of their width: one elementwise pass, which embeddings of all models here leave out.
TransformerConfig read_gemma_like(Config& f, Usual usual) {
  usual.tied = true;
  TransformerConfig c = read_llama_like(f, usual);
  c.activation = f.function(f.given("hidden_activation") ? "hidden_activation" : "hidden_act", Unary::Kind::gelu);
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  f.note("embeddings are not scaled by the root of the hidden size");
  return c;
}
TransformerConfig with_windows(Config& f, TransformerConfig c, std::int64_t every) {
  c.sandwich_norm = true;
  c.window = f.size_or_none("sliding_window", 4096);
  c.global_every = c.window > 0 ? f.size("sliding_window_pattern", every) : 0;
  read_layer_types(f, "layer_types", "sliding_attention", c);
  if (f.given("attn_logit_softcapping")) f.note("scores of attention are not capped (attn_logit_softcapping)");
  return c;
}

}  // namespace

ModelConfig read_gemma(Config& f) {
  return read_gemma_like(
      f, {.layers = 28, .hidden = 3072, .heads = 16, .kv_heads = 16, .ffn = 24576, .head_dim = 256, .vocab = 256000, .positions = 8192});
}
ModelConfig read_gemma2(Config& f) {
  TransformerConfig c = read_gemma_like(
      f, {.layers = 26, .hidden = 2304, .heads = 8, .kv_heads = 4, .ffn = 9216, .head_dim = 256, .vocab = 256000, .positions = 8192});
  c.softcap = f.reader().has("final_logit_softcapping") ? f.given("final_logit_softcapping") : true;
  return with_windows(f, c, 2);
}
ModelConfig read_gemma3(Config& f) {
  TransformerConfig c = read_gemma_like(
      f, {.layers = 26, .hidden = 2304, .heads = 8, .kv_heads = 4, .ffn = 9216, .head_dim = 256, .vocab = 262208, .positions = 131072});
  c.qk_norm = true;
  c.softcap = f.given("final_logit_softcapping");
  return with_windows(f, c, 6);
}

}  // namespace pcg::models
