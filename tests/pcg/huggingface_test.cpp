// Parameter counts of published models from the numbers in their config.json.
#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/huggingface.hpp"

namespace pcg::models {
namespace {

ModelConfig read(const std::string& json) {
  base::Diagnostics sink;
  const std::optional<ModelConfig> config = read_huggingface(base::parse_yaml(json, "config.json"), "model", sink);
  sink.throw_if_any();
  REQUIRE(config);
  return *config;
}
std::int64_t parameters(const std::string& json) {
  ModelConfig config = read(json);
  layers_of(config).sequence_length = 16;  // parameters do not depend on it
  return build(config, 1).parameters();
}
std::string problem(const std::string& json) {
  try {
    (void)read(json);
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return "";
}

TEST_CASE("Llama and those who follow it") {
  // Totals of the safetensors on each model's page on the Hugging Face Hub.
  CHECK(
      parameters(
          R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": false, "rms_norm_eps": 1e-5})") ==
      6'738'415'616);  // meta-llama/Llama-2-7b-hf
  CHECK(parameters(
            R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192})") == 8'030'261'248);  // meta-llama/Meta-Llama-3-8B
  CHECK(
      parameters(
          R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 32000, "sliding_window": 4096, "max_position_embeddings": 32768})") ==
      7'241'732'096);  // mistralai/Mistral-7B-v0.1
  CHECK(
      parameters(
          R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})") ==
      46'702'792'704);  // mistralai/Mixtral-8x7B-v0.1
  CHECK(parameters(
            R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false})") == 7'615'616'512);  // Qwen/Qwen2.5-7B
  CHECK(parameters(
            R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
    "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true})") == 494'032'768);  // Qwen/Qwen2.5-0.5B
}

TEST_CASE("GPTs") {
  CHECK(
      parameters(
          R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
    "vocab_size": 50257, "activation_function": "gelu_new"})") == 124'439'808);
  CHECK(parameters(R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_inner": null})") == 1'557'611'200);  // gpt2-xl
  // Pythia suite (Biderman et al., arXiv 2304.01373), with embeddings.
  CHECK(
      parameters(
          R"({"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 16384,
    "vocab_size": 50432, "tie_word_embeddings": false, "use_parallel_residual": true})") == 6'857'302'016);
  CHECK(parameters(
            R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048,
    "vocab_size": 50304})") == 70'426'624);
  CHECK(
      parameters(
          R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "ffn_dim": 3072, "vocab_size": 50272,
    "word_embed_proj_dim": 768, "max_position_embeddings": 2048, "do_layer_norm_before": true})") == 125'239'296);  // facebook/opt-125m
  CHECK(
      parameters(
          R"({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272,
    "word_embed_proj_dim": 512, "max_position_embeddings": 2048, "do_layer_norm_before": false})") == 331'196'416);  // facebook/opt-350m
}

TEST_CASE("BERT by its architecture's head") {
  const auto bert = [](const std::string& architecture, const std::string& sizes) {
    return parameters(
        R"({"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2, "architectures": [")" +
        architecture + "\"], " + sizes + "}");
  };
  const std::string base = R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072)";
  const std::string large = R"("hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096)";
  CHECK(bert("BertModel", base) == 109'482'240);   // with pooler: bert-base-uncased as transformers counts it
  CHECK(bert("BertModel", large) == 335'141'888);  // bert-large-uncased
  // Without pooler (768^2 + 768), with a dense layer, its norm and the vocabulary's bias.
  CHECK(bert("BertForMaskedLM", base) == 109'482'240 - (768 * 768 + 768) + (768 * 768 + 3 * 768 + 30522));
}

TEST_CASE("T5, version 1.0 and 1.1") {
  const std::string small = R"("d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "vocab_size": 32128})";
  CHECK(parameters(R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], )" + small) == 60'506'624);
  CHECK(parameters(
            R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "vocab_size": 32128})") ==
        222'903'552);
  CHECK(
      parameters(
          R"({"model_type": "t5", "d_model": 1024, "d_kv": 128, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "vocab_size": 32128})") ==
      2'851'598'336);
  CHECK(parameters(R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12, "vocab_size": 32128,
    "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})") == 247'577'856);  // google/t5-v1_1-base
}

TEST_CASE("ViT with a thousand classes") {
  // torchvision's table of models: vit_b_16, vit_l_16.
  CHECK(parameters(R"({"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_labels": 1000})") == 86'567'656);
  CHECK(parameters(
            R"({"model_type": "vit", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
    "image_size": 224, "patch_size": 16, "num_labels": 1000})") == 304'326'632);
}

TEST_CASE("what a config says of training and context is kept") {
  ModelConfig config = read(R"({"model_type": "gpt2", "n_positions": 512, "resid_pdrop": 0.2, "num_key_value_heads": null})");
  CHECK(layers_of(config).sequence_length == 512);
  CHECK(layers_of(config).dropout == 0.2);
  CHECK(layers_of(config).causal);
  CHECK(layers_of(config).attention == AttentionKind::flash);
}

TEST_CASE("problems of a config.json are reported at their place") {
  CHECK(problem(R"({"model_type": "lama"})") ==
        "config.json:1:16: model_type: \"lama\" is not a family that is known here\n"
        "    1 | {\"model_type\": \"lama\"}\n"
        "      |                ^~~ one of: bert, gpt2, gpt_neox, llama, mistral, mixtral, opt, qwen2, t5, vit\n");
  CHECK(problem(R"({"hidden_size": 4})").find("missing key \"model_type\"") != std::string::npos);
  CHECK(problem(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 32})")
            .find("hidden 100 does not divide into 32 heads") != std::string::npos);
  CHECK(problem(R"({"model_type": "bert", "architectures": ["BertForTokenClassification"]})")
            .find("the head of BertForTokenClassification is not known") != std::string::npos);
  CHECK(problem(R"({"model_type": "llama", "num_hidden_layers": "many"})").find("expected an integer, found the text \"many\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace pcg::models
