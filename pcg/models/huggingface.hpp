#pragma once
// Architectures from Hugging Face config.json files. Private to pcg/models.

#include <optional>
#include <string>
#include <vector>

#include "base/yaml/tree.hpp"
#include "pcg/models/families/model_config.hpp"

namespace pcg::models {

struct HuggingFaceModel {
  ModelConfig config;
  std::vector<std::string> notes;  // what the config says and the model does not do
};

// Reads an architecture from a config.json (`document`), which becomes the model `name`. nullopt: what is wrong is in `sink`.
[[nodiscard]] std::optional<HuggingFaceModel> read_huggingface(const base::Yaml& document, const std::string& name,
                                                               base::Diagnostics& sink);

}  // namespace pcg::models
