#pragma once
// One reader for each family of Hugging Face models. Keys and defaults are those of the configuration classes of the `transformers` library
// (docs: huggingface.co/docs/transformers, page of each model). Private to pcg/models.

#include "pcg/models/families/model_config.hpp"

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

}  // namespace pcg::models
