#pragma once
// Models from a `model:` section or a command-line word.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/yaml/tree.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models {

// A `model:` section: {builtin: ..} | {transformer: {..}} | {huggingface: path} | {onnx: path} | {graph: path or map}, plus overrides
// beside them
// ({huggingface: .., sequence_length: 2048, attention: flash}). Relative paths are looked up from `base_directory`.
// Throws: base::InputError with every problem found; `path` is the section's place in the document ("model").
[[nodiscard]] Graph load_model(const base::Yaml& section, const std::string& path, const std::filesystem::path& base_directory,
                               std::int64_t batch);
// Returns: what the source of the model says and the model does not do, in whole sentences; nothing where the section does not load.
[[nodiscard]] std::vector<std::string> model_notes(const base::Yaml& section, const std::filesystem::path& base_directory);
// The same of a command-line word.
[[nodiscard]] std::vector<std::string> model_argument_notes(const std::string& word);
// A model by a command-line word: a builtin's name, or a file: a document {foreshard: 1, model: ..}, a graph file, a config.json, an ONNX
// model.
[[nodiscard]] Graph load_model_argument(const std::string& word, std::int64_t batch);

}  // namespace pcg::models
