#include "pcg/models/model_sections.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "pcg/models/huggingface/config.hpp"
#include "pcg/models/huggingface/families.hpp"

namespace pcg::models {
namespace {

using base::Yaml;

using Reader = ModelConfig (*)(Config&);
const std::map<std::string, Reader, std::less<>> kReaders{{"bert", read_bert},
                                                          {"deepseek_v2", read_deepseek_v2},
                                                          {"deepseek_v3", read_deepseek_v3},
                                                          {"falcon", read_falcon},
                                                          {"gemma", read_gemma},
                                                          {"gemma2", read_gemma2},
                                                          {"gemma3", read_gemma3},
                                                          {"gemma3_text", read_gemma3},
                                                          {"gpt2", read_gpt2},
                                                          {"gpt_neox", read_gpt_neox},
                                                          {"gpt_oss", read_gpt_oss},
                                                          {"kimi_k2", read_deepseek_v3},
                                                          {"llama", read_llama},
                                                          {"llama4", read_llama4},
                                                          {"llama4_text", read_llama4},
                                                          {"mistral", read_mistral},
                                                          {"mixtral", read_mixtral},
                                                          {"nemotron", read_nemotron},
                                                          {"nemotron_h", read_nemotron_h},
                                                          {"opt", read_opt},
                                                          {"phi3", read_phi3},
                                                          {"qwen2", read_qwen2},
                                                          {"qwen2_moe", read_qwen2_moe},
                                                          {"qwen3", read_qwen3},
                                                          {"qwen3_moe", read_qwen3_moe},
                                                          {"t5", read_t5},
                                                          {"vit", read_vit}};

// Models of text and images keep the text's part by itself.
const Yaml* text_part(const Yaml& document) {
  const Yaml* text = document.is_map() ? document.find("text_config") : nullptr;
  return text != nullptr && text->is_map() ? text : nullptr;
}

}  // namespace

std::optional<HuggingFaceModel> read_huggingface(const Yaml& document, const std::string& name, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  Config whole(document, "", sink);
  whole.reader().require("model_type");
  const std::string type = whole.text("model_type", "");
  const auto found = kReaders.find(type);
  if (found == kReaders.end()) {
    std::vector<std::string> known;
    for (const auto& [family, reader] : kReaders) known.push_back(family);
    if (sink.size() == before)
      whole.reader().complain("model_type",
                              type.empty() ? "names no family" : fmt::format("\"{}\" is not a family that is known here", type),
                              fmt::format("one of: {}", fmt::join(known, ", ")));
    return std::nullopt;
  }
  const Yaml* text = text_part(document);
  Config f(text != nullptr ? *text : document, text != nullptr ? "text_config" : "", sink);
  if (text != nullptr) f.note("the model is the language model of text_config, without what reads images");
  HuggingFaceModel model{found->second(f), f.notes()};
  TransformerConfig& layers = layers_of(model.config);
  layers.name = name;
  if (sink.size() == before)
    for (const std::string& problem : problems(layers)) sink.add(document.mark, "", problem);
  return sink.size() == before ? std::optional(model) : std::nullopt;
}

}  // namespace pcg::models
