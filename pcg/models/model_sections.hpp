#pragma once
// The sources of a model besides graphs and ONNX: the builtin models as they are described, a `transformer:` section, config.json files of
// Hugging Face. Private to pcg/models.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
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

// Reads a `transformer:` section. nullopt: what is wrong is in `sink`. Keys: docs/formats/model.md.
[[nodiscard]] std::optional<TransformerConfig> read_transformer(const base::Yaml& section, const std::string& path,
                                                                base::Diagnostics& sink);

// sequence_length, attention and dropout, which any model that is described by numbers may have.
void read_overrides(base::MapReader& reader, TransformerConfig& config);

// Published transformers (published.yaml). Throws base::InputError: an entry of that file is wrong.
[[nodiscard]] std::map<std::string, ModelConfig, std::less<>> published_transformers();

using GraphOf = std::function<Graph(std::int64_t batch)>;
// Described by numbers, which overrides may change; or built by a function of its own.
using Builtin = std::variant<ModelConfig, GraphOf>;

[[nodiscard]] const std::map<std::string, Builtin, std::less<>>& builtins();
[[nodiscard]] Graph graph_of(const Builtin& model, std::int64_t batch);

}  // namespace pcg::models
