// Transformers as published. Dropout is 0.1 where the recipe trains with it (BERT: Devlin et al., arXiv 1810.04805, appendix A.2;
// GPT: Megatron-LM, arXiv 1909.08053, section 4; T5: Raffel et al., arXiv 1910.10683, section 3.1.2), and scores are stored where the
// evaluation came before FlashAttention.

#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {
namespace {

// BERT with both pre-training heads.
TransformerConfig bert(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  TransformerConfig c{.name = std::move(name),
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .vocab = 30522,
                      .sequence_length = 512,
                      .token_types = 2};
  c.causal = false;
  c.post_norm = c.embedding_norm = c.head_transform = c.pooler = true;
  c.attention = AttentionKind::unfused;
  c.dropout = 0.1;
  return c;
}

// GPT-3 models of Alpa's evaluation (OSDI'22, table 5), sequences of 1,024, vocabulary 51,200; the head counts, 125M, 760M and 76B are
// those of its benchmark suite, which has 40 heads for 15B where the paper has 32.
TransformerConfig gpt3(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  TransformerConfig c{.name = std::move(name), .layers = layers, .hidden = hidden, .heads = heads, .vocab = 51200, .sequence_length = 1024};
  c.attention = AttentionKind::unfused;
  c.dropout = 0.1;
  return c;
}

// GShard MoE models of the same evaluation (table 6): every second MLP is a mixture of experts, top 2 gating, capacity factor 1. MLPs
// are 8 times as wide as hidden: with 4 the published parameter counts are not met.
TransformerConfig moe(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t experts) {
  TransformerConfig c{.name = std::move(name),
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .ffn = 8 * hidden,
                      .vocab = 32000,
                      .sequence_length = 1024};
  c.experts = experts;
  c.expert_every = 2;
  c.attention = AttentionKind::unfused;
  c.dropout = 0.1;
  return c;
}

// Llama (Touvron et al., arXiv 2302.13971, table 2).
TransformerConfig llama(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn) {
  TransformerConfig c{.name = std::move(name),
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .ffn = ffn,
                      .vocab = 32000,
                      .sequence_length = 2048,
                      .positions = -1,
                      .gated = true};
  c.rms_norm = c.rope = true;
  c.biases = c.tied_embeddings = false;
  c.activation = Unary::Kind::silu;
  return c;
}

// T5 v1.0 (arXiv 1910.10683, section 3.7): 24 layers each side.
EncoderDecoderConfig t5_large() {
  EncoderDecoderConfig c{.layers = {.name = "t5-large",
                                    .layers = 24,
                                    .hidden = 1024,
                                    .heads = 16,
                                    .ffn = 4096,
                                    .vocab = 32128,
                                    .sequence_length = 512,
                                    .positions = -1,
                                    .rms_norm = true,
                                    .biases = false},
                         .decoder_layers = 24};
  c.layers.activation = Unary::Kind::relu;
  c.layers.attention = AttentionKind::unfused;
  c.layers.dropout = 0.1;
  return c;
}

// ViT-H/14 (Dosovitskiy et al., arXiv 2010.11929, table 1).
VisionConfig vit_huge() {
  VisionConfig c{.layers = {.name = "vit-huge", .layers = 32, .hidden = 1280, .heads = 16}, .patch_size = 14};
  c.layers.causal = false;
  c.layers.attention = AttentionKind::unfused;
  return c;
}

// Heads of 32 dims and windows of 7 x 7 as in all of Swin's sizes (arXiv 2103.14030, section 3.3). The paper has none called huge: this one
// is as wide and deep as the model of 1.02 B parameters in UniAP's experiments (arXiv 2307.16375).
ShiftedWindowConfig swin_huge() {
  ShiftedWindowConfig c{.layers = {.name = "swin-huge", .hidden = 320, .heads = 10}, .depths = {2, 2, 42, 2}};
  c.layers.causal = false;
  c.layers.attention = AttentionKind::unfused;
  return c;
}

}  // namespace

std::map<std::string, ModelConfig, std::less<>> published_transformers() {
  std::map<std::string, ModelConfig, std::less<>> all;
  const auto put = [&](const TransformerConfig& c) { all.emplace(c.name, c); };
  put(bert("bert-large", 24, 1024, 16));
  put(bert("bert-huge", 32, 1280, 16));  // as in Galvatron's bert-huge-uncased-32
  put(gpt3("gpt3-125m", 12, 768, 12));
  put(gpt3("gpt3-350m", 24, 1024, 16));
  put(gpt3("gpt3-760m", 24, 1536, 16));
  put(gpt3("gpt3-1.3b", 24, 2048, 32));
  put(gpt3("gpt3-2.6b", 32, 2560, 32));
  put(gpt3("gpt3-6.7b", 32, 4096, 32));
  put(gpt3("gpt3-15b", 48, 5120, 40));
  put(gpt3("gpt3-39b", 48, 8192, 64));
  put(gpt3("gpt3-76b", 60, 10240, 80));
  put(moe("moe-380m", 8, 768, 16, 8));
  put(moe("moe-690m", 8, 768, 16, 16));
  put(moe("moe-1.3b", 16, 768, 16, 16));
  put(moe("moe-2.4b", 16, 1024, 16, 16));
  put(moe("moe-7.1b", 16, 1280, 16, 32));
  put(moe("moe-10b", 16, 1536, 16, 32));
  put(moe("moe-27b", 16, 2048, 16, 48));
  put(moe("moe-70b", 32, 2048, 16, 64));
  put(llama("llama-7b", 32, 4096, 32, 11008));
  put(llama("llama-13b", 40, 5120, 40, 13824));
  for (const TransformerConfig& c : language_models()) put(c);
  all.emplace("t5-large", t5_large());
  all.emplace("vit-huge", vit_huge());
  all.emplace("swin-huge", swin_huge());
  return all;
}

// Language models. Sizes are those of each model's config.json on the Hugging Face Hub, where it has one, else of its paper. Sequences are
// as long as in pre-training, or in its first and longest stage; Mixtral's and GPT-OSS's are those that their training is measured with.
namespace {

// Brown et al., arXiv 2005.14165, table 2.1, with the vocabulary that Megatron-LM pads to, as MLPerf Training has it.
TransformerConfig gpt3_175b() {
  return {.name = "gpt3-175b", .layers = 96, .hidden = 12288, .heads = 96, .vocab = 51200, .sequence_length = 2048, .dropout = 0.1};
}

// Llama's kind of layer: RMS norms, rotary positions, gated silu, no biases.
TransformerConfig llama_like(TransformerConfig c) {
  c.positions = -1;
  c.gated = c.rms_norm = c.rope = true;
  c.biases = c.tied_embeddings = false;
  c.activation = Unary::Kind::silu;
  return c;
}

// Grattafiori et al., arXiv 2407.21783, table 3.
TransformerConfig llama3(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn) {
  return llama_like({.name = std::move(name),
                     .layers = layers,
                     .hidden = hidden,
                     .heads = heads,
                     .kv_heads = 8,
                     .ffn = ffn,
                     .vocab = 128256,
                     .sequence_length = 8192});
}

// Touvron et al., arXiv 2307.09288.
TransformerConfig llama2_70b() {
  return llama_like({.name = "llama2-70b",
                     .layers = 80,
                     .hidden = 8192,
                     .heads = 64,
                     .kv_heads = 8,
                     .ffn = 28672,
                     .vocab = 32000,
                     .sequence_length = 4096});
}

// Llama 4: one shared expert, top 1 of experts in every layer or every other, chunks of 8192 tokens but in each fourth layer. Without
// images, and without Scout's norm of queries and keys, which has no weights.
TransformerConfig llama4(std::string name, std::int64_t experts, std::int64_t every) {
  return llama_like({.name = std::move(name),
                     .layers = 48,
                     .hidden = 5120,
                     .heads = 40,
                     .kv_heads = 8,
                     .ffn = 16384,
                     .head_dim = 128,
                     .vocab = 202048,
                     .sequence_length = 8192,
                     .experts = experts,
                     .top_k = 1,
                     .expert_every = every,
                     .expert_ffn = 8192,
                     .shared_ffn = 8192,
                     .sigmoid_router = true,
                     .window = 8192,
                     .global_every = 4,
                     .chunked = true});
}

// Jiang et al., arXiv 2401.04088, table 1; 8x22B: its config.json.
TransformerConfig mixtral(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn,
                          std::int64_t vocab) {
  return llama_like({.name = std::move(name),
                     .layers = layers,
                     .hidden = hidden,
                     .heads = heads,
                     .kv_heads = 8,
                     .ffn = ffn,
                     .vocab = vocab,
                     .sequence_length = 4096,
                     .experts = 8,
                     .top_k = 2});
}

// DeepSeek-V3's kind of layer: latent attention, a shared expert beside those that a sigmoid chooses.
TransformerConfig latent_experts(std::string name, std::int64_t heads, std::int64_t vocab, std::int64_t experts,
                                 std::int64_t dense_layers) {
  return llama_like({.name = std::move(name),
                     .layers = 61,
                     .hidden = 7168,
                     .heads = heads,
                     .ffn = 18432,
                     .head_dim = 128,
                     .vocab = vocab,
                     .sequence_length = 4096,
                     .experts = experts,
                     .top_k = 8,
                     .expert_ffn = 2048,
                     .shared_ffn = 2048,
                     .dense_layers = dense_layers,
                     .sigmoid_router = true,
                     .query_rank = 1536,
                     .kv_rank = 512,
                     .rope_dim = 64,
                     .value_dim = 128});
}

// arXiv 2412.19437, section 4.2: 61 layers, of which the first 3 are dense, and one module of multi-token prediction.
TransformerConfig deepseek_v3() {
  TransformerConfig c = latent_experts("deepseek-v3", 128, 129280, 256, 3);
  c.expert_groups = 8;
  c.groups_per_token = 4;
  c.mtp_layers = 1;
  return c;
}

// Yang et al., arXiv 2505.09388, tables 1 and 2; heads of 128.
TransformerConfig qwen3(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                        std::int64_t ffn) {
  return llama_like({.name = std::move(name),
                     .layers = layers,
                     .hidden = hidden,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .ffn = ffn,
                     .head_dim = 128,
                     .vocab = 151936,
                     .sequence_length = 4096,
                     .qk_norm = true});
}
TransformerConfig qwen3_moe(TransformerConfig c) {
  c.experts = 128;
  c.top_k = 8;
  return c;
}

// OpenAI, arXiv 2508.10925, section 2: every other layer sees 128 tokens, each head has a learned sink, all linear layers have biases. Its
// clamp of the gates is left out.
TransformerConfig gpt_oss(std::string name, std::int64_t layers, std::int64_t experts) {
  TransformerConfig c = llama_like({.name = std::move(name),
                                    .layers = layers,
                                    .hidden = 2880,
                                    .heads = 64,
                                    .kv_heads = 8,
                                    .ffn = 2880,
                                    .head_dim = 64,
                                    .vocab = 201088,
                                    .sequence_length = 4096,
                                    .experts = experts,
                                    .top_k = 4,
                                    .expert_biases = true,
                                    .sinks = true,
                                    .window = 128,
                                    .global_every = 2});
  c.qkv_biases = c.out_biases = true;
  return c;
}

// Nemotron-4 15B (Parmar et al., arXiv 2402.16819, table 1) and 340B (arXiv 2406.11704, table 1): squared ReLU, no biases, layer norms.
TransformerConfig nemotron4(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn) {
  TransformerConfig c{.name = std::move(name),
                      .layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .kv_heads = 8,
                      .ffn = ffn,
                      .vocab = 256000,
                      .sequence_length = 4096,
                      .positions = -1};
  c.rope = true;
  c.biases = c.tied_embeddings = false;
  c.activation = Unary::Kind::relu2;
  return c;
}

// Layers of one part each: Mamba-2, attention without positions, and MLPs or experts of squared ReLU.
TransformerConfig hybrid(TransformerConfig c) {
  c.layers = static_cast<std::int64_t>(c.pattern.size());
  c.head_dim = 128;
  c.vocab = 131072;
  c.sequence_length = 8192;
  c.positions = -1;
  c.rms_norm = true;
  c.biases = c.tied_embeddings = false;
  c.activation = Unary::Kind::relu2;
  return c;
}

// Nemotron-H (arXiv 2504.03624, table 1; patterns: NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/models/nemotronh).
TransformerConfig nemotron_h_8b() {
  return hybrid({.name = "nemotron-h-8b",
                 .hidden = 4096,
                 .heads = 32,
                 .kv_heads = 8,
                 .ffn = 21504,
                 .pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                 .mamba_heads = 128});
}
TransformerConfig nemotron_h_56b() {
  return hybrid({.name = "nemotron-h-56b",
                 .hidden = 8192,
                 .heads = 64,
                 .kv_heads = 8,
                 .ffn = 32768,
                 .pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-"
                            "M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                 .mamba_heads = 256,
                 .mamba_state = 256});
}

// Nemotron 3 (sizes and patterns: the same providers). Super's experts see a latent token, and two modules that are one predict further
// ahead.
TransformerConfig nemotron3_nano() {
  return hybrid({.name = "nemotron3-nano-30b-a3b",
                 .hidden = 2688,
                 .heads = 32,
                 .kv_heads = 2,
                 .ffn = 1856,
                 .experts = 128,
                 .top_k = 6,
                 .expert_ffn = 1856,
                 .shared_ffn = 3712,
                 .sigmoid_router = true,
                 .pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                 .mamba_heads = 64});
}
TransformerConfig nemotron3_super() {
  return hybrid({.name = "nemotron3-super-120b-a12b",
                 .hidden = 4096,
                 .heads = 32,
                 .kv_heads = 2,
                 .ffn = 2688,
                 .experts = 512,
                 .top_k = 22,
                 .expert_ffn = 2688,
                 .shared_ffn = 5376,
                 .sigmoid_router = true,
                 .mtp_layers = 2,
                 .mtp_shared = true,
                 .pattern = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
                 .mtp_pattern = "*E",
                 .mamba_heads = 128,
                 .expert_latent = 1024});
}

}  // namespace

std::vector<TransformerConfig> language_models() {
  return {gpt3_175b(),
          llama3("llama3-8b", 32, 4096, 32, 14336),
          llama3("llama3-70b", 80, 8192, 64, 28672),
          llama3("llama3-405b", 126, 16384, 128, 53248),
          llama2_70b(),
          llama4("llama4-scout", 16, 1),
          llama4("llama4-maverick", 128, 2),
          mixtral("mixtral-8x7b", 32, 4096, 32, 14336, 32000),
          mixtral("mixtral-8x22b", 56, 6144, 48, 16384, 32768),
          deepseek_v3(),
          latent_experts("kimi-k2", 64, 163840, 384, 1),
          qwen3("qwen3-8b", 36, 4096, 32, 8, 12288),
          qwen3("qwen3-32b", 64, 5120, 64, 8, 25600),
          qwen3_moe(qwen3("qwen3-30b-a3b", 48, 2048, 32, 4, 768)),
          qwen3_moe(qwen3("qwen3-235b-a22b", 94, 4096, 64, 4, 1536)),
          gpt_oss("gpt-oss-20b", 24, 32),
          gpt_oss("gpt-oss-120b", 36, 128),
          nemotron4("nemotron4-15b", 32, 6144, 48, 24576),
          nemotron4("nemotron4-340b", 96, 18432, 96, 73728),
          nemotron_h_8b(),
          nemotron_h_56b(),
          nemotron3_nano(),
          nemotron3_super()};
}

}  // namespace pcg::models
