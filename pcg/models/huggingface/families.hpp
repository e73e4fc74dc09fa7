#pragma once
// One reader for each family of Hugging Face models. Keys and defaults are those of the configuration classes of the `transformers` library
// (docs: huggingface.co/docs/transformers, page of each model). Private to pcg/models.

#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

using Family = ModelConfig(Config&);
[[nodiscard]] Family read_bert, read_t5, read_vit;
[[nodiscard]] Family read_gpt2, read_gpt_neox, read_opt, read_falcon, read_nemotron;
[[nodiscard]] Family read_llama, read_mistral, read_qwen2, read_qwen3, read_phi3, read_gemma, read_gemma2, read_gemma3;
[[nodiscard]] Family read_mixtral, read_qwen2_moe, read_qwen3_moe, read_deepseek_v2, read_deepseek_v3, read_gpt_oss, read_llama4;
[[nodiscard]] Family read_nemotron_h;

// What a family has where its config.json does not say it; Llama's where families do not differ.
struct Usual {
  std::int64_t layers = 32, hidden = 4096, heads = 32, kv_heads = 0 /* 0: heads */, ffn = 0, head_dim = 0, vocab = 32000, positions = 2048;
  Unary::Kind activation = Unary::Kind::silu;
  bool tied = false;
};
// The keys of what all families have; empty: this one has none.
struct Keys {
  std::string_view layers = "num_hidden_layers", hidden = "hidden_size", heads = "num_attention_heads", ffn = "intermediate_size",
                   vocab = "vocab_size", positions = "max_position_embeddings", activation = "hidden_act";
};
// A stack without a table of positions, from these keys alone.
[[nodiscard]] TransformerConfig read_stack(Config& f, const Usual& usual, const Keys& keys = {});
// The same with a head, which may share the table of tokens.
[[nodiscard]] TransformerConfig read_decoder(Config& f, const Usual& usual, const Keys& keys = {});
// RMS norms, rotary positions, gated silu, no biases but those that the config asks for.
[[nodiscard]] TransformerConfig read_llama_like(Config& f, const Usual& usual);
// Those of attention and of MLPs, which other linear layers do not have.
void read_biases(Config& f, TransformerConfig& c);

// The kind of each layer, where `key` lists them: those that are not `windowed` see all keys. Refuses a list that no `global_every`
// gives.
void read_layer_types(Config& f, std::string_view key, std::string_view windowed, TransformerConfig& c);

// Qwen: layers from max_window_layers on have the window, where windows are used. Refuses windows on some of the layers.
void read_late_windows(Config& f, TransformerConfig& c);

}  // namespace pcg::models
