#pragma once
// Families of Hugging Face models: the rows of families.yaml, and the rules that no row can say. Private to pcg/models.

#include <string>
#include <string_view>

#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

[[nodiscard]] bool is_family(std::string_view model_type);
// What to do with another model_type: how to come near it, or the names of families.
[[nodiscard]] std::string unknown_family_hint(std::string_view model_type);
// The model of a config.json; what is wrong goes into the sink of `f`. Requires: is_family(family).
[[nodiscard]] ModelConfig read_family(const std::string& family, Config& f);

// rules.cpp: what depends on several keys, or on lists. Each changes `c`, which the row has made.
using Rule = void(Config& f, TransformerConfig& c);
// Requires: a rule is called so.
[[nodiscard]] Rule* rule(std::string_view name);
// Lists of layers' kinds, which any family may have. Refuses those that no `global_every`, `dense_layers` or `expert_every` gives.
void read_layer_lists(Config& f, TransformerConfig& c);
[[nodiscard]] ModelConfig masked_model(Config& f, TransformerConfig c);
[[nodiscard]] ModelConfig encoder_decoder_model(Config& f, TransformerConfig c);
[[nodiscard]] ModelConfig image_model(Config& f, TransformerConfig c);

}  // namespace pcg::models
