#include "pcg/models/huggingface/config.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

namespace pcg::models {
namespace {

using base::Yaml;

// They change neither the operators nor their sizes.
constexpr std::array<std::string_view, 26> kWithoutWeight{
    "_name_or_path",   "architectures",  "auto_map",           "bos_token_id",       "decoder_start_token_id",
    "dtype",           "eos_token_id",   "id2label",           "initializer_factor", "initializer_range",
    "label2id",        "layer_norm_eps", "layer_norm_epsilon", "model_type",         "n_ctx",
    "norm_eps",        "pad_token_id",   "pretraining_tp",     "rms_norm_eps",       "rope_local_base_freq",
    "rope_parameters", "rope_theta",     "tokenizer_class",    "torch_dtype",        "transformers_version",
    "use_cache"};

const std::map<std::string, Unary::Kind, std::less<>> kFunctions{
    {"gelu", Unary::Kind::gelu},        {"gelu_new", Unary::Kind::gelu},
    {"gelu_fast", Unary::Kind::gelu},   {"gelu_pytorch_tanh", Unary::Kind::gelu},
    {"gelu_python", Unary::Kind::gelu}, {"relu", Unary::Kind::relu},
    {"silu", Unary::Kind::silu},        {"swish", Unary::Kind::silu},
    {"tanh", Unary::Kind::tanh},        {"sigmoid", Unary::Kind::sigmoid},
    {"relu2", Unary::Kind::relu2}};

bool says_nothing(const Yaml& y) {
  return y.is_null() || (y.is_scalar() && (y.scalar == "false" || y.scalar == "0" || y.scalar == "0.0" || y.scalar.empty()));
}

}  // namespace

std::optional<Unary::Kind> activation_called(std::string_view name) {
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t Config::size(std::string_view key, std::int64_t usual, std::int64_t least, std::int64_t most) {
  return given(key) ? reader_.integer(key, least, most).value_or(usual) : usual;
}
bool Config::flag(std::string_view key, bool usual) { return given(key) ? reader_.boolean(key).value_or(usual) : usual; }
double Config::rate(std::string_view key, double usual) { return given(key) ? reader_.number(key, 0, 1).value_or(usual) : usual; }
std::string Config::text(std::string_view key, const std::string& usual) { return given(key) ? reader_.text(key).value_or(usual) : usual; }
std::vector<std::string> Config::words(std::string_view key) {
  std::vector<std::string> result;
  if (!given(key)) return result;
  const Yaml* y = reader_.optional(key);
  if (!y->is_sequence()) reader_.complain(key, "expected a list");
  else
    for (const Yaml& item : y->items) result.push_back(item.scalar);
  return result;
}
bool Config::given(std::string_view key) {
  asked_.emplace(key);
  const Yaml* y = reader_.optional(key);
  return y && !y->is_null();
}

std::string Config::word(std::string_view key) const {
  const std::size_t point = key.find('.');
  const Yaml* y = reader_.node().find(key.substr(0, point));
  if (point != std::string_view::npos) y = y != nullptr && y->is_map() ? y->find(key.substr(point + 1)) : nullptr;
  return y != nullptr && y->is_scalar() ? y->scalar : "";
}

std::string Config::architecture(std::string_view usual) {
  const Yaml* y = reader_.optional("architectures");
  if (!y || !y->is_sequence() || y->items.empty()) return std::string(usual);
  const std::string& name = y->items[0].scalar;
  for (const std::string_view suffix :
       {"ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration", "ForImageClassification", "Model"})
    if (name.ends_with(suffix)) return std::string(suffix);
  reader_.complain("architectures", fmt::format("the head of {} is not known", name),
                   "a language model, an image classifier, or the bare model");
  return std::string(usual);
}

Unary::Kind Config::function(std::string_view key, Unary::Kind usual) {
  const std::optional<std::string> name = given(key) ? reader_.text(key) : std::nullopt;
  if (!name) return usual;
  if (const auto kind = activation_called(*name)) return *kind;
  std::vector<std::string> names;
  for (const auto& [known, kind] : kFunctions) names.push_back(known);
  reader_.complain(key, fmt::format("\"{}\" is no activation that is known here", *name), base::suggest(*name, names));
  return Unary::Kind::gelu;
}

std::vector<std::string> Config::notes() const {
  std::vector<std::string> result = notes_, unused;
  for (const Yaml::Entry& e : reader_.node().entries)
    if (!asked_.contains(e.key) && std::ranges::find(kWithoutWeight, e.key) == kWithoutWeight.end() && !says_nothing(e.value))
      unused.push_back(e.value.is_scalar() ? fmt::format("{} {}", e.key, e.value.scalar) : e.key);
  if (!unused.empty()) result.push_back(fmt::format("the model does not use what config.json says of {}", fmt::join(unused, ", ")));
  return result;
}

}  // namespace pcg::models
