// Architectures from Hugging Face config.json files. Keys and defaults are those of the configuration classes of the `transformers`
// library (docs: huggingface.co/docs/transformers, page of each model); a key that is absent has its default there.

#include "pcg/models/huggingface.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/yaml/reader.hpp"
#include "pcg/models/families/encoder_decoder.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/families/vision.hpp"

namespace pcg::models {
namespace {

using base::Yaml;

// Reads keys that may be null, which means absent.
class Config {
 public:
  Config(const Yaml& document, base::Diagnostics& sink) : reader_(document, "", sink) {}

  std::int64_t size(std::string_view key, std::int64_t usual, std::int64_t least = 1) {
    return given(key) ? reader_.integer(key, least).value_or(usual) : usual;
  }
  bool flag(std::string_view key, bool usual) { return given(key) ? reader_.boolean(key).value_or(usual) : usual; }
  double rate(std::string_view key, double usual) { return given(key) ? reader_.number(key, 0, 1).value_or(usual) : usual; }
  std::string text(std::string_view key, const std::string& usual) { return given(key) ? reader_.text(key).value_or(usual) : usual; }
  bool given(std::string_view key) {
    const Yaml* y = reader_.optional(key);
    return y && !y->is_null();
  }
  base::MapReader& reader() { return reader_; }

  // "LlamaForCausalLM" -> "ForCausalLM"; `usual` when architectures are not given.
  std::string architecture(std::string_view usual) {
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
  // A choice among names that transformers allows here.
  Unary::Kind function(std::string_view key, const std::string& usual) {
    static const std::map<std::string, Unary::Kind, std::less<>> kinds{
        {"gelu", Unary::Kind::gelu},        {"gelu_new", Unary::Kind::gelu},
        {"gelu_fast", Unary::Kind::gelu},   {"gelu_pytorch_tanh", Unary::Kind::gelu},
        {"gelu_python", Unary::Kind::gelu}, {"relu", Unary::Kind::relu},
        {"silu", Unary::Kind::silu},        {"swish", Unary::Kind::silu},
        {"tanh", Unary::Kind::tanh},        {"sigmoid", Unary::Kind::sigmoid}};
    const std::string name = text(key, usual);
    const auto found = kinds.find(name);
    if (found != kinds.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, kind] : kinds) names.push_back(known);
    reader_.complain(key, fmt::format("\"{}\" is no activation that is known here", name), base::suggest(name, names));
    return Unary::Kind::gelu;
  }

 private:
  base::MapReader reader_;
};

ModelConfig read_bert(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 30522), .positions = f.size("max_position_embeddings", 512)};
  c.hidden = f.size("hidden_size", 768);
  c.layers = f.size("num_hidden_layers", 12);
  c.heads = f.size("num_attention_heads", 12);
  c.ffn = f.size("intermediate_size", 3072);
  c.token_types = f.size("type_vocab_size", 2, 0);
  c.dropout = f.rate("hidden_dropout_prob", 0.1);
  c.activation = f.function("hidden_act", "gelu");
  c.causal = false;
  c.post_norm = c.embedding_norm = true;
  const std::string architecture = f.architecture("ForPreTraining");
  c.head = c.head_transform = architecture != "Model";
  c.pooler = architecture == "Model" || architecture == "ForPreTraining";
  c.sequence_length = c.positions;
  return c;
}

ModelConfig read_gpt2(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 50257), .positions = f.size("n_positions", 1024)};
  c.hidden = f.size("n_embd", 768);
  c.layers = f.size("n_layer", 12);
  c.heads = f.size("n_head", 12);
  c.ffn = f.size("n_inner", 0);
  c.dropout = f.rate("resid_pdrop", 0.1);
  c.activation = f.function("activation_function", "gelu_new");
  c.tied_embeddings = f.flag("tie_word_embeddings", true);
  c.head = f.architecture("LMHeadModel") != "Model";
  c.sequence_length = c.positions;
  return c;
}

// Llama and those who follow it: RMS norms, rotary positions, gated silu, no biases. `usual` holds the defaults where families differ.
TransformerConfig read_llama_like(Config& f, const TransformerConfig& usual) {
  TransformerConfig c = usual;
  c.vocab = f.size("vocab_size", usual.vocab);
  c.hidden = f.size("hidden_size", 4096);
  c.layers = f.size("num_hidden_layers", 32);
  c.heads = f.size("num_attention_heads", 32);
  c.kv_heads = f.size("num_key_value_heads", usual.kv_heads > 0 ? usual.kv_heads : c.heads);
  c.head_dim = f.size("head_dim", 0);
  c.ffn = f.size("intermediate_size", usual.ffn);
  c.sequence_length = f.size("max_position_embeddings", usual.sequence_length);
  c.dropout = 0;  // these families train without hidden dropout; there is no key for it
  c.positions = -1;
  c.rms_norm = c.rope = c.gated = true;
  c.biases = false;
  c.tied_embeddings = f.flag("tie_word_embeddings", false);
  c.activation = f.function("hidden_act", "silu");
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}
ModelConfig read_llama(Config& f) {
  TransformerConfig c = read_llama_like(f, {.ffn = 11008, .vocab = 32000, .sequence_length = 2048});
  if (f.flag("attention_bias", false) || f.flag("mlp_bias", false))
    f.reader().complain(f.flag("mlp_bias", false) ? "mlp_bias" : "attention_bias", "a Llama with biases cannot be described yet");
  return c;
}
ModelConfig read_mistral(Config& f) { return read_llama_like(f, {.kv_heads = 8, .ffn = 14336, .vocab = 32000, .sequence_length = 131072}); }
ModelConfig read_mixtral(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 8, .ffn = 14336, .vocab = 32000, .sequence_length = 131072});
  c.experts = f.size("num_local_experts", 8);
  c.top_k = f.size("num_experts_per_tok", 2);
  return c;
}
ModelConfig read_qwen2(Config& f) {
  TransformerConfig c = read_llama_like(f, {.kv_heads = 32, .ffn = 22016, .vocab = 151936, .sequence_length = 32768});
  c.qkv_biases = true;
  return c;
}

ModelConfig read_opt(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 50272), .sequence_length = f.size("max_position_embeddings", 2048)};
  c.positions = c.sequence_length + 2;  // OPTLearnedPositionalEmbedding keeps two rows before the first position
  c.hidden = f.size("hidden_size", 768);
  c.layers = f.size("num_hidden_layers", 12);
  c.heads = f.size("num_attention_heads", 12);
  c.ffn = f.size("ffn_dim", 3072);
  c.embedding_width = f.size("word_embed_proj_dim", c.hidden);
  c.dropout = f.rate("dropout", 0.1);
  c.biases = f.flag("enable_bias", true);
  c.post_norm = !f.flag("do_layer_norm_before", true);
  c.final_norm = !f.flag("_remove_final_layer_norm", false);
  c.activation = f.function("activation_function", "relu");
  c.tied_embeddings = f.flag("tie_word_embeddings", true);
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}

ModelConfig read_gpt_neox(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 50432), .sequence_length = f.size("max_position_embeddings", 2048), .positions = -1};
  c.hidden = f.size("hidden_size", 6144);
  c.layers = f.size("num_hidden_layers", 44);
  c.heads = f.size("num_attention_heads", 64);
  c.ffn = f.size("intermediate_size", 24576);
  c.dropout = f.rate("hidden_dropout", 0.0);
  c.rope = true;
  c.parallel_residual = f.flag("use_parallel_residual", true);
  c.activation = f.function("hidden_act", "gelu");
  c.tied_embeddings = f.flag("tie_word_embeddings", false);
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}

ModelConfig read_t5(Config& f) {
  EncoderDecoderConfig c;
  TransformerConfig& l = c.layers;
  l.vocab = f.size("vocab_size", 32128);
  l.hidden = f.size("d_model", 512);
  l.head_dim = f.size("d_kv", 64);
  l.ffn = f.size("d_ff", 2048);
  l.layers = f.size("num_layers", 6);
  l.heads = f.size("num_heads", 8);
  l.sequence_length = f.size("n_positions", 512);
  l.dropout = f.rate("dropout_rate", 0.1);
  l.positions = -1;
  l.rms_norm = true;
  l.biases = false;
  l.tied_embeddings = f.flag("tie_word_embeddings", true);
  const std::string projection = f.text("feed_forward_proj", "relu");
  l.gated = projection.starts_with("gated-");
  if (projection != "relu" && projection != "gated-gelu" && projection != "gated-silu" && projection != "gelu")
    f.reader().complain("feed_forward_proj", fmt::format("\"{}\" is not known", projection), "one of: relu, gelu, gated-gelu, gated-silu");
  l.activation = projection.ends_with("gelu") ? Unary::Kind::gelu : projection.ends_with("silu") ? Unary::Kind::silu : Unary::Kind::relu;
  l.head = f.architecture("ForConditionalGeneration") != "Model";
  c.decoder_layers = f.size("num_decoder_layers", l.layers);
  c.position_buckets = f.size("relative_attention_num_buckets", 32);
  return c;
}

// The number of classes is num_labels, or what id2label lists, or 2 (PretrainedConfig).
std::int64_t class_count(Config& f) {
  const Yaml* labels = f.reader().optional("id2label");
  const std::int64_t listed = labels && labels->is_map() ? static_cast<std::int64_t>(labels->entries.size()) : 2;
  return f.size("num_labels", listed);
}
ModelConfig read_vit(Config& f) {
  VisionConfig c;
  TransformerConfig& l = c.layers;
  l.hidden = f.size("hidden_size", 768);
  l.layers = f.size("num_hidden_layers", 12);
  l.heads = f.size("num_attention_heads", 12);
  l.ffn = f.size("intermediate_size", 3072);
  l.dropout = f.rate("hidden_dropout_prob", 0.0);
  l.activation = f.function("hidden_act", "gelu");
  l.causal = false;
  if (!f.flag("qkv_bias", true))
    f.reader().complain("qkv_bias", "a ViT without biases on queries, keys and values cannot be described yet");
  l.pooler = f.architecture("ForImageClassification") == "Model";
  c.classes = l.pooler ? 0 : class_count(f);
  c.image_size = f.size("image_size", 224);
  c.patch_size = f.size("patch_size", 16);
  c.channels = f.size("num_channels", 3);
  if (c.image_size < c.patch_size)
    f.reader().complain("patch_size", fmt::format("a patch of {} is larger than the image, {}", c.patch_size, c.image_size));
  return c;
}

using Reader = ModelConfig (*)(Config&);
const std::map<std::string, Reader, std::less<>> kReaders{
    {"bert", read_bert},       {"gpt2", read_gpt2}, {"gpt_neox", read_gpt_neox}, {"llama", read_llama}, {"mistral", read_mistral},
    {"mixtral", read_mixtral}, {"opt", read_opt},   {"qwen2", read_qwen2},       {"t5", read_t5},       {"vit", read_vit}};

}  // namespace

std::optional<ModelConfig> read_huggingface(const Yaml& document, const std::string& name, base::Diagnostics& sink) {
  const std::size_t before = sink.size();
  Config f(document, sink);
  f.reader().require("model_type");
  const std::string type = f.text("model_type", "");
  const auto found = kReaders.find(type);
  if (found == kReaders.end()) {
    std::vector<std::string> known;
    for (const auto& [family, reader] : kReaders) known.push_back(family);
    if (!type.empty())
      f.reader().complain("model_type", fmt::format("\"{}\" is not a family that is known here", type),
                          fmt::format("one of: {}", fmt::join(known, ", ")));
    return std::nullopt;
  }
  ModelConfig config = found->second(f);
  TransformerConfig& layers = layers_of(config);
  layers.name = name;
  if (sink.size() == before)
    for (const std::string& problem : problems(layers)) sink.add(document.mark, "", problem);
  return sink.size() == before ? std::optional(config) : std::nullopt;
}

}  // namespace pcg::models
