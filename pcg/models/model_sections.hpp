#pragma once
// Architectures from a `transformer:` section and from Hugging Face config.json files. Private to pcg/models.

#include <optional>
#include <string>
#include <vector>

#include "base/yaml/reader.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

struct HuggingFaceModel {
  ModelConfig config;
  std::vector<std::string> notes;  // what the config says and the model does not do
};

// Reads an architecture from a config.json (`document`), which becomes the model `name`. nullopt: what is wrong is in `sink`.
[[nodiscard]] std::optional<HuggingFaceModel> read_huggingface(const base::Yaml& document, const std::string& name,
                                                               base::Diagnostics& sink);

// Reads a `transformer:` section. nullopt: what is wrong is in `sink`. Keys: docs/formats.md.
[[nodiscard]] std::optional<TransformerConfig> read_transformer(const base::Yaml& section, const std::string& path,
                                                                base::Diagnostics& sink);

// sequence_length, attention and dropout, which may stand beside any model that is described by numbers.
void read_overrides(base::MapReader& reader, TransformerConfig& config);

}  // namespace pcg::models
