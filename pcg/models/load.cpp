#include "pcg/models/load.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/files/text_file.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/models/adapters.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/model_sections.hpp"
#include "pcg/models/onnx/read_onnx.hpp"

namespace pcg::models {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

const std::vector<std::string> kSources{"builtin", "transformer", "huggingface", "onnx", "graph"};

// Names that the system refuses (too long, a loop of links) are no files either.
bool is_file(const std::filesystem::path& path) {
  std::error_code refused;
  return base::is_standard_input(path) || std::filesystem::is_regular_file(path, refused);
}

// Whether there is the file that a key of the section names; says so where there is none.
bool require_file(MapReader& r, std::string_view key, const std::filesystem::path& path) {
  if (is_file(path)) return true;
  r.complain(
      key, fmt::format("no file is called \"{}\"", path.lexically_normal().string()),
      key == "huggingface" ? "nothing is downloaded: write the path of the model's config.json, or take a builtin (show model)" : "");
  return false;
}

// The content of such a file, or nullopt with what is wrong in the sink: also what is wrong inside the file.
std::optional<Yaml> read_file(MapReader& r, std::string_view key, const std::filesystem::path& path) {
  if (!require_file(r, key, path)) return std::nullopt;
  try {
    return base::read_yaml(path);
  } catch (const base::InputError& e) {
    r.sink().add_all(e);
    return std::nullopt;
  }
}

// "runs/llama-2-7b/config.json" is a llama-2-7b.
std::string name_of_config(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return stem == "config" && !folder.empty() && folder != "." && folder != ".." ? folder : stem;
}

bool sees_images(const ModelConfig& config) {
  return std::holds_alternative<VisionConfig>(config) || std::holds_alternative<ShiftedWindowConfig>(config);
}

// The section's model, before any override: numbers that overrides may change, or a graph.
using Found = std::optional<Builtin>;

Found find_builtin(MapReader& r) {
  const std::optional<std::string> name = r.text("builtin");
  if (!name) return {};
  const auto found = builtins().find(*name);
  if (found != builtins().end()) return found->second;
  r.complain("builtin", fmt::format("unknown model \"{}\"", *name), base::suggest(*name, builtin_names()));
  return {};
}

std::optional<HuggingFaceModel> read_huggingface_file(MapReader& r, const std::filesystem::path& base_directory) {
  const std::optional<std::string> word = r.text("huggingface");
  if (!word) return std::nullopt;
  std::filesystem::path path = base_directory / *word;
  std::error_code refused;
  if (std::filesystem::is_directory(path, refused)) path /= "config.json";  // the folder of a downloaded model
  const std::optional<Yaml> document = read_file(r, "huggingface", path);
  return document ? read_huggingface(*document, name_of_config(path), r.sink()) : std::nullopt;
}

onnx::ReadConfig read_onnx_keys(MapReader& r) {
  onnx::ReadConfig config;
  if (const Yaml* sizes = r.optional("sizes")) {
    MapReader keys(*sizes, r.path_of("sizes"), r.sink());
    for (const Yaml::Entry& e : sizes->entries) {
      constexpr std::int64_t kMost = std::int64_t{1} << 40;
      if (const auto size = keys.integer(e.key, 1, kMost)) config.sizes[e.key] = *size;
    }
  }
  if (const Yaml* outputs = r.optional("outputs")) {
    if (!outputs->is_sequence()) r.complain("outputs", "expected a list of names", "write e.g. [logits]");
    for (const Yaml& name : outputs->items)
      if (const auto text = base::as_text(name, r.path_of("outputs"), r.sink())) config.outputs.push_back(*text);
  }
  static const std::vector<std::string> kLosses{"cross_entropy", "squared_error"};
  if (const auto loss = r.choice("loss", kLosses)) config.loss = static_cast<onnx::Loss>(*loss);
  return config;
}

std::optional<onnx::ReadResult> read_onnx_file(MapReader& r, const std::filesystem::path& base_directory) {
  const std::optional<std::string> word = r.text("onnx");
  const onnx::ReadConfig config = read_onnx_keys(r);
  if (!word) return std::nullopt;
  const std::filesystem::path path = base_directory / *word;
  return require_file(r, "onnx", path) ? onnx::read_onnx(path, config, r.sink()) : std::nullopt;
}

Found find_onnx(MapReader& r, const std::filesystem::path& base_directory) {
  std::optional<onnx::ReadResult> model = read_onnx_file(r, base_directory);
  if (!model) return {};
  return GraphOf([graph = std::move(model->graph)](std::int64_t batch) { return with_batch(graph, batch); });
}

Found find_graph(MapReader& r, const std::filesystem::path& base_directory) {
  const Yaml* section = r.optional("graph");
  std::optional<Yaml> document;
  if (section->is_map()) document = *section;
  else if (const std::optional<std::string> word = r.text("graph")) document = read_file(r, "graph", base_directory / *word);
  if (!document) return {};
  try {
    Graph graph = read_graph(*document, section->is_map() ? r.path_of("graph") : "");
    return GraphOf([graph = std::move(graph)](std::int64_t batch) { return with_batch(graph, batch); });
  } catch (const base::InputError& e) {
    r.sink().add_all(e);
    return {};
  }
}

Found find_model(MapReader& r, const std::filesystem::path& base_directory) {
  std::vector<std::string> given;
  for (const std::string& source : kSources)
    if (r.optional(source)) given.push_back(source);
  if (given.size() != 1) {
    if (r.node().is_map() && given.empty()) r.complain("", "says no model", fmt::format("write one of: {}", fmt::join(kSources, ", ")));
    if (given.size() > 1) r.complain(given[1], fmt::format("has {} already", given[0]), "a model comes from one place");
    return {};
  }
  if (given[0] == "builtin") return find_builtin(r);
  if (given[0] == "huggingface") {
    const std::optional<HuggingFaceModel> model = read_huggingface_file(r, base_directory);
    return model ? Found(model->config) : Found();
  }
  if (given[0] == "graph") return find_graph(r, base_directory);
  if (given[0] == "onnx") return find_onnx(r, base_directory);
  if (std::optional<TransformerConfig> config = read_transformer(*r.optional("transformer"), r.path_of("transformer"), r.sink()))
    return ModelConfig(*config);
  return {};
}

// Keys beside the source that change its numbers.
void apply_overrides(MapReader& r, Found& found) {
  constexpr std::string_view kKeys[] = {"sequence_length", "attention", "dropout", "expert_imbalance"};
  ModelConfig* config = found ? std::get_if<ModelConfig>(&*found) : nullptr;
  if (!config) {
    for (const std::string_view key : kKeys)
      if (r.optional(key) && found) r.complain(key, "this model has no such setting");
    return;
  }
  TransformerConfig& layers = layers_of(*config);
  if (r.optional("sequence_length") && sees_images(*config))
    r.complain("sequence_length", "of a vision transformer it follows from the image");
  read_overrides(r, layers);
  for (const std::string& problem : problems(layers)) r.complain("sequence_length", problem);
}

std::optional<Adapters> read_adapters(MapReader& r) {
  const Yaml* section = r.optional("lora");
  if (section == nullptr) return std::nullopt;
  constexpr std::int64_t kWidest = std::int64_t{1} << 20;
  MapReader keys(*section, r.path_of("lora"), r.sink(), "{rank: 16}");
  Adapters adapters{.rank = keys.integer("rank", 1, kWidest).value_or(1), .on = {"qkv"}};
  keys.require("rank");
  if (const Yaml* on = keys.optional("on")) {
    adapters.on.clear();
    if (!on->is_sequence() || on->items.empty()) keys.complain("on", "expected a list of words", "write e.g. [qkv, out]");
    for (const Yaml& word : on->items)
      if (const auto text = base::as_text(word, keys.path_of("on"), keys.sink())) adapters.on.push_back(*text);
  }
  keys.finish();
  return adapters;
}

Graph adapted(const Graph& graph, const Adapters& adapters, MapReader& r) {
  const std::vector<std::string> known = adaptable(graph);
  MapReader keys(*r.optional("lora"), r.path_of("lora"), r.sink());
  for (const std::string& word : adapters.on)
    if (std::ranges::find(known, word) == known.end())
      keys.complain("on", fmt::format("no linear layer of {} is called \"{}\"", graph.name(), word),
                    known.empty() ? "it has none inside of its layers" : fmt::format("write some of: {}", fmt::join(known, ", ")));
  return r.sink().empty() ? with_adapters(graph, adapters) : graph;
}

bool is_onnx(const std::filesystem::path& file) { return file.extension() == ".onnx"; }

// {KEY: file}
Yaml section_of(std::string_view key, const std::filesystem::path& file) {
  return base::map_of({{key, Yaml::make_scalar(base::is_standard_input(file) ? file.string() : std::filesystem::absolute(file).string())}});
}

// A config gives the longest sequence that a model can take, not the one that it is trained on.
std::string taken_length(HuggingFaceModel& model) {
  if (sees_images(model.config)) return "";
  return fmt::format("sequences of {} tokens, the longest that config.json allows: write sequence_length beside huggingface for another",
                     layers_of(model.config).sequence_length);
}

}  // namespace

Graph load_model(const Yaml& section, const std::string& path, const std::filesystem::path& base_directory, std::int64_t batch) {
  Diagnostics sink;
  MapReader r(section, path, sink, fmt::format("{{builtin: {}}}", section.is_scalar() ? section.scalar : "llama3-8b"));
  Found found = find_model(r, base_directory);
  apply_overrides(r, found);
  const std::optional<Adapters> adapters = read_adapters(r);
  r.finish();
  sink.throw_if_any();
  try {
    Graph graph = graph_of(*found, batch);
    if (adapters) graph = adapted(graph, *adapters, r);
    sink.throw_if_any();
    return graph;
  } catch (const ShapeError& e) { base::refuse(section.mark, path, e.what(), ""); }
}

std::vector<std::string> model_notes(const Yaml& section, const std::filesystem::path& base_directory) {
  Diagnostics sink;
  MapReader r(section, "", sink);
  if (r.has("onnx")) {
    const std::optional<onnx::ReadResult> model = read_onnx_file(r, base_directory);
    return model ? model->notes : std::vector<std::string>{};
  }
  if (!r.has("huggingface")) return {};
  std::optional<HuggingFaceModel> model = read_huggingface_file(r, base_directory);
  if (!model) return {};
  if (const std::string length = taken_length(*model); !length.empty() && !r.has("sequence_length")) model->notes.push_back(length);
  return std::move(model->notes);
}

std::vector<std::string> model_argument_notes(const std::string& word) {
  const std::filesystem::path file(word);
  if (builtins().contains(word) || !is_file(file)) return {};
  if (is_onnx(file)) return model_notes(section_of("onnx", file), {});
  const Yaml document = base::read_yaml(file);
  const Yaml* model = document.find("model");
  if (model != nullptr && document.find("foreshard")) return model_notes(*model, file.parent_path());
  if (!document.find("model_type")) return {};
  return model_notes(section_of("huggingface", file), {});
}

Graph load_model_argument(const std::string& word, std::int64_t batch) {
  if (builtins().contains(word)) return builtin(word, batch);
  const std::filesystem::path file(word);
  if (!is_file(file))
    base::refuse("", fmt::format("\"{}\" is neither a builtin model nor a file", word), base::suggest(word, builtin_names()));
  if (is_onnx(file)) return load_model(section_of("onnx", file), "", {}, batch);
  const Yaml document = base::read_yaml(file);
  if (const Yaml* model = document.find("model"); document.find("foreshard") && model) {  // of a scenario too: its other keys are its own
    Diagnostics sink;
    MapReader(document, "", sink).format();
    sink.throw_if_any();
    return load_model(*model, "model", file.parent_path(), batch);
  }
  if (document.find("graph") || document.find("blocks")) {
    const Graph graph = read_graph(document, "");
    try {
      return with_batch(graph, batch);
    } catch (const ShapeError& e) { base::refuse(document.mark, "", e.what(), ""); }
  }
  if (document.find("model_type") || document.find("architectures")) return load_model(section_of("huggingface", file), "", {}, batch);
  base::refuse(document.mark, "", "is no model", "a model file has the key \"model\", is a graph file, or a Hugging Face config.json");
}

}  // namespace pcg::models
