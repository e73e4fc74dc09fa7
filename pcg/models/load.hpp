#pragma once
// Models from a `model:` section or a command-line word.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/yaml/tree.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models {

// A `model:` section: {builtin: ..} | {transformer: {..}} | {huggingface: path} | {graph: path or map}, plus overrides beside them
// ({huggingface: .., sequence_length: 2048, attention: flash}). Relative paths are looked up from `base_directory`.
// Throws: base::InputError with every problem found; `path` is the section's place in the document ("model").
[[nodiscard]] Graph load_model(const base::Yaml& section, const std::string& path, const std::filesystem::path& base_directory,
                               std::int64_t batch);
// A model by a command-line word: a builtin's name, or a file: a document {foreshard: 1, model: ..}, a graph file, a config.json.
[[nodiscard]] Graph load_model_argument(const std::string& word, std::int64_t batch);

}  // namespace pcg::models
