#pragma once
// One reader for each family of Hugging Face models. Keys and defaults are those of the configuration classes of the `transformers` library
// (docs: huggingface.co/docs/transformers, page of each model). Private to pcg/models.

#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

class Config;

// Encoders, and encoders with decoders.
[[nodiscard]] ModelConfig read_bert(Config& f);
[[nodiscard]] ModelConfig read_t5(Config& f);
[[nodiscard]] ModelConfig read_vit(Config& f);
// Decoders.
[[nodiscard]] ModelConfig read_gpt2(Config& f);
[[nodiscard]] ModelConfig read_gpt_neox(Config& f);
[[nodiscard]] ModelConfig read_opt(Config& f);
[[nodiscard]] ModelConfig read_falcon(Config& f);
[[nodiscard]] ModelConfig read_nemotron(Config& f);
// Llama and those who follow it.
[[nodiscard]] ModelConfig read_llama(Config& f);
[[nodiscard]] ModelConfig read_mistral(Config& f);
[[nodiscard]] ModelConfig read_qwen2(Config& f);
[[nodiscard]] ModelConfig read_qwen3(Config& f);
[[nodiscard]] ModelConfig read_phi3(Config& f);
[[nodiscard]] ModelConfig read_gemma(Config& f);
[[nodiscard]] ModelConfig read_gemma2(Config& f);
[[nodiscard]] ModelConfig read_gemma3(Config& f);
// Mixtures of experts.
[[nodiscard]] ModelConfig read_mixtral(Config& f);
[[nodiscard]] ModelConfig read_qwen2_moe(Config& f);
[[nodiscard]] ModelConfig read_qwen3_moe(Config& f);
[[nodiscard]] ModelConfig read_deepseek_v2(Config& f);
[[nodiscard]] ModelConfig read_deepseek_v3(Config& f);
[[nodiscard]] ModelConfig read_gpt_oss(Config& f);
[[nodiscard]] ModelConfig read_llama4(Config& f);
// Hybrids.
[[nodiscard]] ModelConfig read_nemotron_h(Config& f);

// RMS norms, rotary positions, gated silu, no biases but those that the config asks for. `usual` holds the defaults where families differ;
// a size that it does not give is Llama's.
[[nodiscard]] TransformerConfig read_llama_like(Config& f, const TransformerConfig& usual);

// The kind of each layer, where `key` lists them: those that are not `windowed` see all keys. Refuses a list that no `global_every`
// gives.
void read_layer_types(Config& f, std::string_view key, std::string_view windowed, TransformerConfig& c);

// Qwen: layers from max_window_layers on have the window, where windows are used. Refuses windows on some of the layers.
void read_late_windows(Config& f, TransformerConfig& c);

}  // namespace pcg::models
