// Parameter counts of published models from the numbers in their config.json.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>

#include "base/yaml/parse.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/load.hpp"
#include "pcg/models/model_sections.hpp"

namespace pcg::models {
namespace {

ModelConfig read(const std::string& json) {
  base::Diagnostics sink;
  const std::optional<HuggingFaceModel> model = read_huggingface(base::parse_yaml(json, "config.json"), "model", sink);
  sink.throw_if_any();
  REQUIRE(model);
  return model->config;
}
std::int64_t parameters(const std::string& json) {
  ModelConfig config = read(json);
  layers_of(config).sequence_length = 16;  // parameters do not depend on it
  return build(config, 1).parameters();
}
std::vector<std::string> notes(const std::string& json) {
  base::Diagnostics sink;
  return read_huggingface(base::parse_yaml(json, "config.json"), "model", sink).value().notes;
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

// A small model of a family whose keys are Llama's.
std::string small(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 4, "vocab_size": 100)" +
         (more.empty() ? "}" : ", " + more + "}");
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

TEST_CASE("Llama's successors") {
  // Totals of the safetensors on each model's page on the Hugging Face Hub.
  CHECK(parameters(
            R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936})") == 8'190'735'360);  // Qwen/Qwen3-8B
  CHECK(parameters(
            R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 32, "vocab_size": 32064, "sliding_window": 2047})") == 3'821'079'552);  // microsoft/Phi-3-mini-4k-instruct
  CHECK(parameters(
            R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8,
    "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000, "hidden_act": "gelu"})") == 2'506'172'416);  // google/gemma-2b
  CHECK(parameters(R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 256000})") == 8'537'680'896);             // google/gemma-7b
  CHECK(parameters(
            R"({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000})") == 9'241'705'984);  // google/gemma-2-9b
  CHECK(
      parameters(
          R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4,
    "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144})") == 999'885'952);  // google/gemma-3-1b-pt
  // tiiuae/falcon-7b; falcon-40b: 2 tables' worth of one, 65024 * 8192; 60 layers of qkv 8192 * 144 * 64, out 8192^2, MLP 8 * 8192^2 and
  // two norms of 16384; a last norm.
  CHECK(parameters(
            R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024})") ==
        6'921'720'704);
  CHECK(parameters(
            R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
    "new_decoder_architecture": true, "vocab_size": 65024})") ==
        65024LL * 8192 + 60 * (8192LL * 144 * 64 + 9 * 8192LL * 8192 + 2 * 16384) + 16384);
  // Nemotron-4 15B: two tables of 256000, 32 layers of queries and out 2 * 6144^2, keys and values 2 * 6144 * 1024, MLP 2 * 6144 * 24576,
  // norms with biases.
  CHECK(
      parameters(
          R"({"model_type": "nemotron", "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 32, "num_attention_heads": 48,
    "num_key_value_heads": 8, "vocab_size": 256000})") ==
      2 * 256000LL * 6144 + 32 * (2 * 6144LL * 6144 + 2 * 6144LL * 1024 + 2 * 6144LL * 24576 + 4 * 6144) + 2 * 6144);
  // A Llama with biases on its linear layers: 4 h of attention, 2 ffn + h of the MLP more.
  const std::string llama = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
    "num_attention_heads": 4, "vocab_size": 100)";
  CHECK(parameters(llama + R"(, "attention_bias": true, "mlp_bias": true})") == parameters(llama + "}") + 4 * 64 + 2 * 96 + 64);
}

TEST_CASE("mixtures of experts") {
  CHECK(
      parameters(
          R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 16,
    "num_key_value_heads": 16, "vocab_size": 151936, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
    "num_experts_per_tok": 4, "mlp_only_layers": []})") == 14'315'784'192);  // Qwen/Qwen1.5-MoE-A2.7B
  CHECK(
      parameters(
          R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8})") ==
      30'532'122'624);  // Qwen/Qwen3-30B-A3B
  CHECK(
      parameters(
          R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27, "num_attention_heads": 16,
    "num_key_value_heads": 16, "vocab_size": 102400, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
    "first_k_dense_replace": 1})") == 15'706'484'224);  // deepseek-ai/DeepSeek-V2-Lite
  CHECK(parameters(R"({"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "layer_types": null, "hidden_size": 2880,
    "intermediate_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 201088, "experts_per_token": 4})") ==
        20'914'757'184);  // openai/gpt-oss-20b
  // Llama 4 Scout: tables 2 * 202048 * 5120; 48 layers of attention (2 * 40 + 2 * 8) * 128 * 5120, a router of 16, 16 experts and a shared
  // one of 3 * 5120 * 8192, two norms.
  CHECK(parameters(R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
    "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
    "num_local_experts": 16, "vocab_size": 202048}, "vision_config": {"hidden_size": 1408}})") ==
        2 * 202048LL * 5120 + 48 * (96LL * 128 * 5120 + 16 * 5120 + 17 * 3 * 5120LL * 8192 + 2 * 5120) + 5120);
  // deepseek-ai/DeepSeek-V3: as the builtin, with the module of multi-token prediction that the config asks for.
  const ModelConfig v3 =
      read(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1, "n_group": 8, "topk_group": 4, "hidden_size": 7168,
    "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 128, "vocab_size": 129280, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3})");
  CHECK(build(v3, 1).parameters() == builtin("deepseek-v3", 1).parameters());
}

TEST_CASE("layers with a window as the config lists them") {
  const std::string experts = R"("num_local_experts": 4, "num_experts_per_tok": 2, )";
  ModelConfig oss =
      read(small("gpt_oss", experts + R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"])"));
  CHECK(layers_of(oss).window == 128);
  CHECK(layers_of(oss).global_every == 2);
  // google/gemma-3-4b-pt leaves out heads and vocabulary: 8 heads, 4 of keys, of 256, 262208 tokens.
  ModelConfig gemma = read(R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
    "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}})");
  CHECK(layers_of(gemma).global_every == 6);
  CHECK(layers_of(gemma).qk_norm);
  CHECK(layers_of(gemma).heads == 8);
  ModelConfig mistral = read(small("mistral", R"("sliding_window": null)"));
  CHECK(layers_of(mistral).window == 0);
  const std::string llama4 = experts + R"("intermediate_size_mlp": 128)";
  ModelConfig scout = read(small("llama4_text", llama4));
  CHECK(layers_of(scout).chunked);
  CHECK(problem(
            small("gpt_oss", experts + R"("layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"])"))
            .find("layers with and without a window follow no pattern that can be described yet") != std::string::npos);
  CHECK(problem(small("qwen3", R"("layer_types": ["linear_attention", "full_attention"])"))
            .find("layers of linear_attention cannot be described yet") != std::string::npos);
  ModelConfig maverick =
      read(small("llama4_text", llama4 + R"(, "interleave_moe_layer_step": 2, "moe_layers": [1, 3], "no_rope_layers": [1, 0, 1, 0])"));
  CHECK(layers_of(maverick).global_every == 2);
  CHECK(problem(small("llama4_text", llama4 + R"(, "moe_layers": [1, 3])"))
            .find("layers with experts that are not every n-th cannot be described yet") != std::string::npos);
  CHECK(problem(small("qwen3_moe", R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "mlp_only_layers": [3])"))
            .find("layers without experts that are not the first ones cannot be described yet") != std::string::npos);
}

TEST_CASE("what a config says and the model does not do is noted") {
  CHECK(notes(small("llama", R"("rope_theta": 500000, "bos_token_id": 1, "torch_dtype": "bfloat16", "pretraining_tp": 1)")).empty());
  CHECK(notes(small("llama", R"("router_jitter": 0.1, "some_list": [1], "other": false)")) ==
        std::vector<std::string>{"the model does not use what config.json says of router_jitter 0.1, some_list"});
  CHECK(notes(small("gpt_oss", R"("num_local_experts": 4, "num_experts_per_tok": 2, "swiglu_limit": 7.0)")) ==
        std::vector<std::string>{"gates of experts are plain silu, not clamped (swiglu_limit)"});
  CHECK(notes(R"({"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100})") ==
        std::vector<std::string>{"distances between positions (alibi) are added to no scores"});
}

TEST_CASE("GPTs") {
  CHECK(
      parameters(
          R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
    "vocab_size": 50257, "activation_function": "gelu_new"})") == 124'439'808);
  CHECK(parameters(R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_inner": null, "vocab_size": 50257})") ==
        1'557'611'200);  // gpt2-xl
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
  ModelConfig config =
      read(R"({"model_type": "gpt2", "n_positions": 512, "resid_pdrop": 0.2, "num_key_value_heads": null, "n_embd": 8, "n_layer": 1,
    "n_head": 2, "vocab_size": 11})");
  CHECK(layers_of(config).sequence_length == 512);
  CHECK(layers_of(config).dropout == 0.2);
  CHECK(layers_of(config).causal);
  CHECK(layers_of(config).attention == AttentionKind::flash);
}

TEST_CASE("problems of a config.json are reported at their place") {
  CHECK(problem(R"({"model_type": "lama"})")
            .find("config.json:1:16: model_type: \"lama\" is not a family that is known here\n"
                  "    1 | {\"model_type\": \"lama\"}\n"
                  "      |                ^~~ write the model_type of one that is alike (llama: RMS norms, gated MLPs), or its sizes below "
                  "transformer; one of: baichuan, bert, bloom, ") == 0);
  CHECK(problem(R"({"model_type": "qwen3_5_text"})")
            .find("^~~ its gated delta rule cannot be described: model_type qwen3 is near it, with attention in all layers") !=
        std::string::npos);
  CHECK(problem(R"({"hidden_size": 4})").find("missing key \"model_type\"") != std::string::npos);
  CHECK(problem(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 32, "num_hidden_layers": 1, "intermediate_size": 8,
    "vocab_size": 9})")
            .find("hidden 100 does not divide into 32 heads") != std::string::npos);
  CHECK(problem(small("bert", R"("architectures": ["BertForTokenClassification"])"))
            .find("the head of BertForTokenClassification is not known") != std::string::npos);
  CHECK(problem(R"({"model_type": "llama", "num_hidden_layers": "many"})").find("expected an integer, found the text \"many\"") !=
        std::string::npos);
}

TEST_CASE("a config without a family and one of absurd sizes are refused with their place") {
  CHECK(problem(R"({"model_type": null})").find("config.json:1:16: model_type: names no family") == 0);
  CHECK(problem(R"({"model_type": ""})").find("model_type: names no family") != std::string::npos);
  CHECK(
      problem(R"({"model_type": "llama", "num_hidden_layers": 1000000})").find("num_hidden_layers must be at most 10000, found 1000000") !=
      std::string::npos);
  CHECK(problem(R"({"model_type": "llama", "vocab_size": 1099511627776})").find("vocab_size must be at most 1073741824") !=
        std::string::npos);
  CHECK(notes(small("llama", R"("rope_scaling": {"type": "yarn"}, "quantization_config": {"bits": 4}, "sliding_window": 8)")) ==
        std::vector<std::string>{"the model does not use what config.json says of rope_scaling, quantization_config, sliding_window 8"});
}

TEST_CASE("Nemotron-H: layers by a pattern, or by a list of their kinds") {
  // nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16: 31,577,940,288 with the 23 x 128 biases that its routers keep and nobody trains.
  const std::string nano =
      R"({"model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2,
    "head_dim": 128, "intermediate_size": 1856, "vocab_size": 131072, "mlp_hidden_act": "relu2", "mamba_num_heads": 64, "mamba_head_dim": 64,
    "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128, "expand": 2, "n_routed_experts": 128, "num_experts_per_tok": 6,
    "moe_intermediate_size": 1856, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712, "use_conv_bias": true, "n_group": 1,
    "topk_group": 1, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})";
  CHECK(parameters(nano) == 31'577'937'344);
  ModelConfig whole = read(nano);
  CHECK(layers_of(whole).sigmoid_router);
  CHECK(notes(nano).empty());
  const auto small = [](const std::string& layers) {
    return R"({"model_type": "nemotron_h", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 96,
    "intermediate_size": 48, "mamba_num_heads": 8, "mamba_head_dim": 4, "n_groups": 4, "ssm_state_size": 4, "n_routed_experts": 4,
    "moe_intermediate_size": 20, "moe_shared_expert_intermediate_size": 40, "moe_latent_size": 12, "num_nextn_predict_layers": 1, )" +
           layers + "}";
  };
  const std::string listed = small(R"("layers_block_type": ["mamba", "full_attention", "mlp", "moe"])");
  ModelConfig config = read(listed);
  CHECK(layers_of(config).pattern == "M*-E");
  CHECK(layers_of(config).mtp_pattern == "*E");
  CHECK(parameters(listed) == parameters(small(R"("hybrid_override_pattern": "M*-E", "mtp_hybrid_override_pattern": "*E")")));
  CHECK(problem(small(R"("layers_block_type": ["mamba", "gru"])")).find("\"gru\" is no layer that is known here") != std::string::npos);
  CHECK(problem(small(R"("hybrid_override_pattern": "MX")")).find("\"X\" is no layer") != std::string::npos);
}

TEST_CASE("families of today") {
  const auto with = [](const std::string& type, std::array<std::int64_t, 6> sizes, const std::string& more) {
    return parameters(fmt::format(R"({{"model_type": "{}", "hidden_size": {}, "num_hidden_layers": {}, "num_attention_heads": {},
    "num_key_value_heads": {}, "intermediate_size": {}, "vocab_size": {}, {}}})",
                                  type, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], more));
  };
  // Totals of the safetensors on each model's page on the Hugging Face Hub.
  CHECK(with("smollm3", {2048, 36, 16, 4, 11008, 128256}, R"("no_rope_layer_interval": 4)") == 3'075'098'624);  // SmolLM3-3B
  CHECK(with("olmo2", {4096, 32, 32, 32, 11008, 100352}, R"("tie_word_embeddings": false)") == 7'298'617'344);  // OLMo-2-1124-7B
  CHECK(with("olmoe", {2048, 16, 16, 16, 1024, 50304}, R"("num_experts": 64, "num_experts_per_tok": 8)") == 6'919'161'856);
  CHECK(with("granite", {4096, 40, 32, 8, 12800, 49152}, R"("tie_word_embeddings": true)") == 8'170'835'968);  // granite-3.0-8b
  CHECK(with("granitemoe", {1024, 24, 16, 8, 512, 49155},
             R"("num_local_experts": 32, "num_experts_per_tok": 8, "tie_word_embeddings": true)") ==
        1'334'628'352);  // granite-3.0-1b-a400m
  CHECK(with("starcoder2", {4608, 32, 36, 4, 18432, 49152}, R"("use_bias": true)") == 7'173'923'840);
  CHECK(with("internlm2", {4096, 32, 32, 8, 14336, 92544}, R"("bias": false)") == 7'737'708'544);
  CHECK(with("baichuan", {4096, 32, 32, 32, 11008, 125696}, R"("max_position_embeddings": 4096)") == 7'505'973'248);     // Baichuan2-7B
  CHECK(with("glm4", {4096, 40, 32, 2, 13696, 151552}, R"("head_dim": 128, "attention_bias": true)") == 9'400'279'040);  // GLM-4-9B-0414
  CHECK(with("cohere2", {4096, 32, 32, 8, 14336, 256000}, R"("sliding_window": 4096)") == 8'028'033'024);                // c4ai-command-r7b
  CHECK(with("phi", {2560, 32, 32, 32, 10240, 51200}, R"("tie_word_embeddings": false)") == 2'779'683'840);              // phi-2
  CHECK(with("stablelm", {2560, 32, 32, 32, 6912, 50304}, R"("use_qkv_bias": false)") == 2'795'443'200);  // stablelm-3b-4e1t, its card
  CHECK(with("exaone", {4096, 32, 32, 8, 14336, 102400}, R"("num_layers": 32, "activation_function": "silu")") == 7'818'448'896);
  // Phi-3.5-MoE, by hand ("41.9B"): two tables and a bias of the head; 32 layers of attention with biases, a router, 16 experts, two norms.
  CHECK(with("phimoe", {4096, 32, 32, 8, 6400, 32064}, R"("num_local_experts": 16, "attention_bias": true, "lm_head_bias": true)") ==
        2 * 32064LL * 4096 + 32064 +
            32 * (2 * 4096LL * 4096 + 2 * 4096LL * 1024 + 2 * 4096 + 2 * 1024 + 16 * 4096 + 48 * 4096LL * 6400 + 4 * 4096) + 2 * 4096);
  // zai-org/GLM-4.5-Air has 110,468,824,832: without the second copies of both tables, and 128 biases of each of 46 routers, which nobody
  // trains.
  CHECK(with("glm4_moe", {4096, 46, 96, 8, 10944, 151552}, R"("head_dim": 128, "attention_bias": true, "n_routed_experts": 128,
    "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1)") ==
        110'468'824'832 - 2 * 151552LL * 4096 - 46 * 128);
  // MiniMax-M2, by hand: two tables; 62 layers of attention (2 x 48 + 2 x 8 heads of 128), its two norms over all heads, two norms, a
  // router and 256 experts; a last norm.
  CHECK(with("minimax_m2", {3072, 62, 48, 8, 1536, 200064}, R"("head_dim": 128, "num_local_experts": 256, "num_experts_per_tok": 8,
    "qk_norm_type": "per_layer", "attn_type_list": [1, 1])") ==
        2 * 200064LL * 3072 + 62 * (112LL * 128 * 3072 + 6144 + 1024 + 2 * 3072 + 256 * 3072 + 256 * 3 * 3072LL * 1536) + 3072);
  // c4ai-command-r-v01, by hand: one table, 40 layers of attention, a gated MLP and one norm; a last norm.
  CHECK(with("cohere", {8192, 40, 64, 64, 22528, 256000}, R"("logit_scale": 0.0625)") ==
        256000LL * 8192 + 40 * (4 * 8192LL * 8192 + 3 * 8192LL * 22528 + 8192) + 8192);
  // Latent attention and experts as DeepSeek-V3's, by hand, without the module of prediction: two tables; queries by 768 numbers, keys and
  // values by 512; one dense layer and 46 with 64 experts and one that is shared.
  const std::int64_t latent = 2048LL * 768 + 768 + 768LL * 20 * 256 + 2048LL * 576 + 512 + 512LL * 20 * 448 + 20 * 256LL * 2048 + 2 * 2048;
  CHECK(with("glm4_moe_lite", {2048, 47, 20, 20, 10240, 154880}, R"("n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
    "moe_intermediate_size": 1536, "kv_lora_rank": 512, "q_lora_rank": 768, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
    "v_head_dim": 256)") == 2 * 154880LL * 2048 + 2048 + 47 * latent + 3 * 2048LL * 10240 + 46 * (64 * 2048 + 65 * 3 * 2048LL * 1536));
  // The name of the text's part goes before the whole's.
  CHECK(parameters(R"({"model_type": "llava", "text_config": )" + small("qwen2") + "}") == parameters(small("qwen2")));
  CHECK(parameters(R"({"model_type": "multi_modality", "language_config": )" + small("llama") + "}") == parameters(small("llama")));
  CHECK(problem(R"({"model_type": "llava", "text_config": )" + small("qwen3_next") + "}").find("\"qwen3_next\" is not a family") !=
        std::string::npos);
  // The text's part has a name of its own; the whole says whether the tables are one.
  CHECK(parameters(R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, "text_config": )" +
                   small("qwen3_vl_text", R"("head_dim": 8)") + "}") ==
        parameters(small("qwen3", R"("head_dim": 8, "tie_word_embeddings": true)")));
}

TEST_CASE("families with names of their own for sizes") {
  CHECK(parameters(R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "vocab_size": 250880})") ==
        559'214'592);                                                       // bigscience/bloom-560m
  CHECK(parameters(R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4, "vocab_size": 50432,
    "no_bias": true, "attn_config": {"alibi": true}})") == 6'649'286'656);  // mosaicml/mpt-7b
  CHECK(parameters(R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192,
    "vocab_size": 49152, "multi_query": true})") == 15'517'456'384);        // bigcode/starcoder
  // THUDM/glm-4-9b, as its own training script counts; the bare model has the head.
  CHECK(parameters(R"({"model_type": "chatglm", "architectures": ["ChatGLMModel"], "num_layers": 40, "hidden_size": 4096,
    "num_attention_heads": 32, "ffn_hidden_size": 13696, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128,
    "padded_vocab_size": 151552, "add_qkv_bias": true, "rmsnorm": true, "post_layer_norm": true})") == 9'399'951'360);
  // EleutherAI/gpt-j-6b: two tables and a bias of the head; 28 layers of four squares, an MLP with biases and one norm; a last norm.
  CHECK(parameters(R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048, "vocab_size": 50400})") ==
        2 * 50400LL * 4096 + 50400 + 28 * (12 * 4096LL * 4096 + 16384 + 4096 + 2 * 4096) + 2 * 4096);
  CHECK(parameters(R"({"model_type": "mt5", "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "vocab_size": 250112,
    "feed_forward_proj": "gated-gelu"})") == 300'176'768);  // google/mt5-small
  // mistralai/Mamba-Codestral-7B-v0.1
  CHECK(
      parameters(R"({"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128, "head_dim": 64, "n_groups": 8,
    "state_size": 128, "vocab_size": 32768, "tie_word_embeddings": false})") == 7'285'403'648);
}

TEST_CASE("sizes that are essential are not assumed") {
  const auto llama = [](const std::string& more) {
    return problem(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 100)" +
                   more + "}");
  };
  CHECK(llama("").find("missing key \"num_hidden_layers\"") != std::string::npos);
  CHECK(llama(R"(, "n_layers": 80)").find("n_layers is not read: write num_hidden_layers: 80") != std::string::npos);
  CHECK(llama(R"(, "num_hidden_layers": null)").find("num_hidden_layers: is null") != std::string::npos);
  CHECK(llama(R"(, "num_hidden_layers": 2, "n_layers": 80)").find("n_layers 80 is not read: this family's keys say layers 2") !=
        std::string::npos);
  CHECK(llama(R"(, "num_hidden_layers": 2, "n_layers": 2)").empty());
  CHECK(problem(R"({"model_type": "bloom", "hidden_size": 64, "n_embed": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100})")
            .find("n_embed 32 contradicts hidden_size 64") != std::string::npos);
  CHECK(problem(small("cohere", R"("use_qk_norm": true)")).find("use_qk_norm true cannot be described yet") != std::string::npos);
}

TEST_CASE("the flag of a gated T5 goes before the word") {
  const std::string xxl = R"({"model_type": "t5", "d_ff": 10240, "d_kv": 64, "d_model": 4096, "num_heads": 64, "num_layers": 24,
    "tie_word_embeddings": false, "vocab_size": 32128, "feed_forward_proj": )";
  CHECK(parameters(xxl + R"("gelu", "is_gated_act": true, "dense_act_fn": "gelu"})") == 11'135'332'352);  // google/flan-t5-xxl
  CHECK(parameters(xxl + R"("gated-gelu", "is_gated_act": false})") == parameters(xxl + R"("gelu"})"));
}

}  // namespace
}  // namespace pcg::models
