#include <fmt/core.h>

#include <functional>
#include <map>

#include "base/check.hpp"
#include "pcg/models/families/fields.hpp"
#include "pcg/models/families/layers.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface/config.hpp"
#include "pcg/models/huggingface/families.hpp"
#include "pcg/models/load.hpp"
#include "pcg/models/model_sections.hpp"

namespace pcg::models {

const std::map<std::string, Builtin, std::less<>>& builtins() {
  static const std::map<std::string, Builtin, std::less<>> all = [] {
    std::map<std::string, Builtin, std::less<>> result;
    for (const auto& [name, config] : published_transformers()) result.emplace(name, config);
    for (const auto& [name, build_it] : unity_networks()) result.emplace(name, build_it);
    for (const auto& [name, build_it] : convolutional_networks()) result.emplace(name, build_it);
    return result;
  }();
  return all;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& [name, builtin] : builtins()) names.push_back(name);
  return names;  // a map is sorted
}

Graph builtin(std::string_view name, std::int64_t batch) {
  const auto found = builtins().find(name);
  BASE_CHECK(found != builtins().end(), "no builtin is called {}", name);
  return graph_of(found->second, batch);
}

Graph graph_of(const Builtin& model, std::int64_t batch) {
  if (const ModelConfig* config = std::get_if<ModelConfig>(&model)) return build(*config, batch);
  return std::get<GraphOf>(model)(batch);
}

namespace {

const std::vector<std::string> kAttentionKinds{"flash", "unfused"};
const std::vector<std::string> kActivations{"relu", "gelu", "tanh", "sigmoid", "silu", "relu2"};
const std::vector<std::string> kRouters{"softmax", "sigmoid"};

void read_positions(base::MapReader& r, const Field& f, TransformerConfig& c) {
  if (c.rope) c.positions = -1;
  const base::Yaml* y = r.optional(f.key);
  if (y && y->is_scalar() && y->scalar == "none") c.positions = -1;
  else if (const auto value = r.integer(f.key, 1, kMostSize)) c.positions = *value;
}

// The names of papers for a gated layer.
void refuse_gated_name(base::MapReader& r) {
  const base::Yaml* y = r.optional("activation");
  for (const auto& [name, activation] : {std::pair("swiglu", "silu"), {"geglu", "gelu"}, {"reglu", "relu"}})
    if (y != nullptr && y->scalar == name)
      r.complain("activation", fmt::format("{} is a gated {}", name, activation),
                 fmt::format("write gated: true, activation: {}", activation));
}

// A key of a section that is one member.
struct FieldReader {
  base::MapReader& r;
  const Field& f;
  TransformerConfig& c;

  void operator()(std::int64_t TransformerConfig::*member) const {
    if (f.key == "positions") return read_positions(r, f, c);
    const auto value = r.integer(f.key, static_cast<std::int64_t>(f.least), static_cast<std::int64_t>(f.most));
    if (value) c.*member = *value;
  }
  void operator()(bool TransformerConfig::*member) const {
    if (f.key == "router") {
      if (const auto kind = r.choice(f.key, kRouters)) c.*member = *kind == 1;
    } else if (const auto value = r.boolean(f.key)) c.*member = *value;
  }
  void operator()(double TransformerConfig::*member) const {
    if (const auto value = r.number(f.key, f.least, f.most)) c.*member = *value;
  }
  void operator()(Unary::Kind TransformerConfig::*member) const {
    if (c.gated) c.*member = Unary::Kind::silu;
    const std::size_t before = r.sink().size();
    refuse_gated_name(r);
    if (r.sink().size() > before) return;
    if (const auto kind = r.choice(f.key, kActivations)) c.*member = *activation_called(kActivations[*kind]);
  }
};
void read_attention_kind(base::MapReader& r, TransformerConfig& c) {
  if (const auto kind = r.choice("attention", kAttentionKinds)) c.attention = static_cast<AttentionKind>(*kind);
}

void check_experts(base::MapReader& r, TransformerConfig& c) {
  if (r.has("expert_groups")) r.require("groups_per_token");
  const std::int64_t count = r.integer("shared_experts", 0, 1 << 20).value_or(0);
  if (r.has("shared_experts") && r.has("shared_ffn")) r.complain("shared_experts", "shared_ffn is given, too", "write one of them");
  if (count > 0) c.shared_ffn = count * expert_ffn_size(c);
  if (r.has("experts")) return;
  for (const char* key : {"top_k", "expert_every", "expert_ffn", "shared_experts", "capacity_factor"})
    if (r.has(key)) r.complain(key, "the model has no experts", "write experts, too");
}

using base::Yaml;

// The key below which a model of text and images keeps the text's part; empty: none.
std::string text_key(const Yaml& document) {
  for (const char* key : {"text_config", "language_config", "llm_config"})
    if (const Yaml* text = document.is_map() ? document.find(key) : nullptr; text != nullptr && text->is_map()) return key;
  return "";
}

}  // namespace

void read_overrides(base::MapReader& r, TransformerConfig& c) {
  for (const char* key : {"sequence_length", "dropout", "expert_imbalance"}) std::visit(FieldReader{r, *field(key), c}, field(key)->member);
  read_attention_kind(r, c);
}

std::optional<TransformerConfig> read_transformer(const base::Yaml& section, const std::string& path, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  base::MapReader r(section, path, sink);
  TransformerConfig c;
  c.name = r.text("name").value_or(c.name);
  for (const char* key : {"layers", "hidden", "heads", "vocab", "sequence_length"}) r.require(key);
  for (const Field& f : fields()) std::visit(FieldReader{r, f, c}, f.member);
  read_attention_kind(r, c);
  c.pattern = r.text("pattern").value_or("");
  c.mtp_pattern = r.text("mtp_pattern").value_or("");
  check_experts(r, c);
  r.finish();
  if (sink.size() > before) return std::nullopt;
  for (const std::string& problem : problems(c)) sink.add(section.mark, path, problem);
  return sink.size() == before ? std::optional(c) : std::nullopt;
}

std::optional<HuggingFaceModel> read_huggingface(const Yaml& document, const std::string& name, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  Config whole(document, "", sink);
  whole.reader().require("model_type");
  const std::string type = whole.text("model_type", "");
  if (sink.size() > before) return std::nullopt;
  const std::string key = text_key(document);  // the part may have a family of its own
  const Yaml* text = key.empty() ? nullptr : document.find(key);
  const Yaml* inner = text != nullptr ? text->find("model_type") : nullptr;
  const std::string family = inner != nullptr && (is_family(type) || is_family(inner->scalar)) ? inner->scalar : type;
  if (!is_family(family)) {
    whole.reader().complain("model_type",
                            type.empty() ? "names no family" : fmt::format("\"{}\" is not a family that is known here", family),
                            unknown_family_hint(family));
    return std::nullopt;
  }
  Yaml part = text != nullptr ? *text : document;
  if (const Yaml* tied = document.find("tie_word_embeddings"); tied != nullptr && !part.find("tie_word_embeddings"))
    part.set("tie_word_embeddings", *tied);  // the library asks the whole's
  Config f(part, key, sink);
  if (text != nullptr) f.note(fmt::format("the model is the language model of {}, without what reads images", key));
  ModelConfig config = read_family(family, f);
  HuggingFaceModel model{std::move(config), f.notes()};
  TransformerConfig& layers = layers_of(model.config);
  layers.name = name;
  if (sink.size() == before)
    for (const std::string& problem : problems(layers)) sink.add(document.mark, "", problem);
  return sink.size() == before ? std::optional(model) : std::nullopt;
}

}  // namespace pcg::models
