#pragma once
// Models from files and words. Start here: load_model() reads a `model:` section, load_model_argument() a word of the command line; both
// return a Graph (pcg/graph/graph.hpp). One folder for each source of models: families (our own, by a few numbers: ModelConfig),
// huggingface (config.json), onnx; adapters.hpp adds LoRA to any of them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"
#include "pcg/graph/graph.hpp"

namespace pcg::models {

// A `model:` section: {builtin: ..} | {transformer: {..}} | {huggingface: path} | {onnx: path} | {graph: path or map}, plus overrides
// ({huggingface: .., sequence_length: 2048, attention: flash}). Relative paths are looked up from `base_directory`.
// Throws: base::InputError with every problem found; `path` is the section's place in the document ("model").
[[nodiscard]] Graph load_model(const base::Yaml& section, const std::string& path, const std::filesystem::path& base_directory,
                               std::int64_t batch);
// Returns: what the source of the model says and the model does not do, in whole sentences; nothing where the section does not load.
[[nodiscard]] std::vector<std::string> model_notes(const base::Yaml& section, const std::filesystem::path& base_directory);
// The same of a command-line word.
[[nodiscard]] std::vector<std::string> model_argument_notes(const std::string& word);
// Returns the model of a command-line word: a builtin's name, or a file: a document {foreshard: 1, model: ..}, a graph file, a config.json,
// an ONNX model.
[[nodiscard]] Graph load_model_argument(const std::string& word, std::int64_t batch);

[[nodiscard]] std::vector<std::string> builtin_names();  // sorted
// The graph whose inputs hold `batch` samples. Requires: name is one of builtin_names().
[[nodiscard]] Graph builtin(std::string_view name, std::int64_t batch);

// Our text form of a graph, version 1 (docs/formats/model.md). read_graph(parse(write_graph(g))) == g where no node's name ends in
// a colon and a number, which names an output.
[[nodiscard]] std::string write_graph(const Graph& g);
[[nodiscard]] Graph read_graph(const base::Yaml& document, const std::string& path);

}  // namespace pcg::models
