// Encoders, and encoders with decoders.

#include "pcg/models/huggingface/families.hpp"

#include <fmt/core.h>

#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

ModelConfig read_bert(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 30522), .positions = f.size("max_position_embeddings", 512)};
  c.hidden = f.size("hidden_size", 768);
  c.layers = f.layers("num_hidden_layers", 12);
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

ModelConfig read_t5(Config& f) {
  EncoderDecoderConfig c;
  TransformerConfig& l = c.layers;
  l.vocab = f.size("vocab_size", 32128);
  l.hidden = f.size("d_model", 512);
  l.head_dim = f.size("d_kv", 64);
  l.ffn = f.size("d_ff", 2048);
  l.layers = f.layers("num_layers", 6);
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
  c.decoder_layers = f.layers("num_decoder_layers", l.layers);
  c.position_buckets = f.size("relative_attention_num_buckets", 32);
  return c;
}

namespace {

// The number of classes is num_labels, or what id2label lists, or 2 (PretrainedConfig).
std::int64_t class_count(Config& f) {
  const base::Yaml* labels = f.reader().optional("id2label");
  const std::int64_t listed = labels && labels->is_map() ? static_cast<std::int64_t>(labels->entries.size()) : 2;
  return f.size("num_labels", listed);
}

}  // namespace

ModelConfig read_vit(Config& f) {
  VisionConfig c;
  TransformerConfig& l = c.layers;
  l.hidden = f.size("hidden_size", 768);
  l.layers = f.layers("num_hidden_layers", 12);
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

}  // namespace pcg::models
