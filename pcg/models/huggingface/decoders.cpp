// Decoders with layer norms.

#include "pcg/models/huggingface/families.hpp"

#include "pcg/models/huggingface/config.hpp"

namespace pcg::models {

ModelConfig read_gpt2(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 50257), .positions = f.size("n_positions", 1024)};
  c.hidden = f.size("n_embd", 768);
  c.layers = f.layers("n_layer", 12);
  c.heads = f.size("n_head", 12);
  c.ffn = f.size("n_inner", 0);
  c.dropout = f.rate("resid_pdrop", 0.1);
  c.activation = f.function("activation_function", "gelu_new");
  c.tied_embeddings = f.flag("tie_word_embeddings", true);
  c.head = f.architecture("LMHeadModel") != "Model";
  c.sequence_length = c.positions;
  return c;
}

ModelConfig read_opt(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 50272), .sequence_length = f.size("max_position_embeddings", 2048)};
  c.positions = c.sequence_length + 2;  // OPTLearnedPositionalEmbedding keeps two rows before the first position
  c.hidden = f.size("hidden_size", 768);
  c.layers = f.layers("num_hidden_layers", 12);
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
  c.layers = f.layers("num_hidden_layers", 44);
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

// One norm serves both parts of a parallel layer, unless the newer architecture has two.
ModelConfig read_falcon(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 65024), .sequence_length = f.size("max_position_embeddings", 2048), .positions = -1};
  c.hidden = f.size("hidden_size", 4544);
  c.layers = f.layers("num_hidden_layers", 32);
  c.heads = f.size("num_attention_heads", 71);
  const bool newer = f.flag("new_decoder_architecture", false);
  const std::int64_t heads = f.size("num_kv_heads", c.heads);
  c.kv_heads = newer ? heads : f.flag("multi_query", true) ? 1 : c.heads;
  c.ffn = f.size("ffn_hidden_size", 4 * c.hidden);
  c.dropout = f.rate("hidden_dropout", 0.0);
  c.biases = f.flag("bias", false);
  c.rope = !f.flag("alibi", false);
  if (!c.rope) f.note("distances between positions (alibi) are added to no scores");
  c.parallel_residual = f.flag("parallel_attn", true) || newer;
  c.single_norm = c.parallel_residual && f.size("num_ln_in_parallel_attn", newer ? 2 : 1) == 1;
  c.activation = f.function("activation", "gelu");
  c.tied_embeddings = f.flag("tie_word_embeddings", true);
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}

ModelConfig read_nemotron(Config& f) {
  TransformerConfig c{.vocab = f.size("vocab_size", 256000), .sequence_length = f.size("max_position_embeddings", 4096), .positions = -1};
  c.hidden = f.size("hidden_size", 6144);
  c.layers = f.layers("num_hidden_layers", 32);
  c.heads = f.size("num_attention_heads", 48);
  c.kv_heads = f.size("num_key_value_heads", c.heads);
  c.head_dim = f.size("head_dim", 0);
  c.ffn = f.size("intermediate_size", 24576);
  c.rope = true;
  c.biases = false;
  c.qkv_biases = c.out_biases = f.flag("attention_bias", false);
  c.mlp_biases = f.flag("mlp_bias", false);
  c.activation = f.function("hidden_act", "relu2");
  c.tied_embeddings = f.flag("tie_word_embeddings", false);
  c.head = f.architecture("ForCausalLM") != "Model";
  return c;
}

}  // namespace pcg::models
