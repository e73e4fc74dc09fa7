#pragma once
// What Llama and those who follow it have in common. Private to pcg/models.

#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

// RMS norms, rotary positions, gated silu, no biases but those that the config asks for. `usual` holds the defaults where families differ;
// a size that it does not give is Llama's.
[[nodiscard]] TransformerConfig read_llama_like(Config& f, const TransformerConfig& usual);

// The kind of each layer, where `key` lists them: those that are not `windowed` see all keys. Refuses a list that no `global_every`
// gives.
void read_layer_types(Config& f, std::string_view key, std::string_view windowed, TransformerConfig& c);

// Qwen: layers from max_window_layers on have the window, where windows are used. Refuses windows on some of the layers.
void read_late_windows(Config& f, TransformerConfig& c);

}  // namespace pcg::models
