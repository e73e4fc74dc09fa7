#pragma once
// Transformers described by numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

inline constexpr std::int64_t kMostLayers = 10'000;               // a hundred times deeper than what is trained today
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 30;  // of what is counted; six products of two still fit in 64 bits

enum class AttentionKind { flash, unfused };

// Any decoder or encoder stack. Defaults are a GPT.
struct TransformerConfig {
  std::string name = "transformer";
  std::int64_t layers = 1, hidden = 1, heads = 1, kv_heads = 0 /* 0: heads */, ffn = 0 /* 0: 4 hidden */,
               head_dim = 0 /* 0: hidden/heads */;
  std::int64_t vocab = 1, sequence_length = 1, positions = 0 /* learned position table; 0: sequence_length; -1: none */, token_types = 0;
  std::int64_t embedding_width = 0;  // of the token table, projected to hidden and back without bias where they differ; 0: hidden
  bool gated = false;                // two up projections, one of them through the activation, multiplied (SwiGLU with silu)
  bool causal = true;
  bool rms_norm = false, rope = false, biases = true, tied_embeddings = true, post_norm = false, embedding_norm = false, final_norm = true;
  bool qkv_biases = false, out_biases = false, mlp_biases = false;  // on those linear layers although `biases` is false
  bool parallel_residual = false;                                   // x + attention(norm1 x) + mlp(norm2 x)
  bool single_norm = false;                                         // norm1 serves both parts of a parallel residual
  bool sandwich_norm = false;                                       // one more norm after each part, before its addition (Gemma 2)
  bool reordered_norm = false;                                      // that one alone: x + norm(part(x)) (OLMo 2)
  bool softcap = false;                                             // logits through tanh (Gemma 2)
  Unary::Kind activation = Unary::Kind::gelu;
  std::int64_t experts = 0, top_k = 2, expert_every = 1;  // every n-th layer's MLP is a mixture of experts
  double capacity_factor = 1;
  double expert_imbalance = 1;  // dropless: what the expert that gets most has over the even share
  std::int64_t expert_ffn = 0 /* 0: ffn */, shared_ffn = 0 /* of an expert that sees every token; 0: none */;
  std::int64_t dense_layers = 0;                         // the first ones, without experts
  bool shared_gate = false;                              // the shared expert's result is scaled by a sigmoid of the token
  bool expert_biases = false;                            // on experts and their router
  bool sigmoid_router = false;                           // scores of experts by sigmoid, not softmax
  std::int64_t expert_groups = 1, groups_per_token = 1;  // a token has its experts in `groups_per_token` of `expert_groups` equal groups
  // Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), with kv_rank: keys and values of head_dim and value_dim come from
  // kv_rank numbers per token, and a key has rope_dim more that all heads share. query_rank 0: queries come straight from hidden.
  std::int64_t query_rank = 0, kv_rank = 0, rope_dim = 0, value_dim = 0;
  bool qk_norm = false, sinks = false, repeated_keys = false;  // see pcg::Attention
  bool wide_qk_norm = false;                                   // one norm over the queries of all heads, one over the keys (OLMo 2)
  std::int64_t window = 0, global_every = 0;                   // layers see `window` keys, but for every n-th, which sees all; 0: none does
  bool chunked = false;                                        // windows are chunks
  std::int64_t mtp_layers = 0;  // modules of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2)
  bool mtp_shared = false;      // their layers are one, run again and again
  // Hybrids: a letter for each layer, which has one part alone, with its norm and residual (Megatron-LM's --hybrid-layer-pattern): M Mamba,
  // * attention, - MLP, E experts. Empty: each layer has attention and a feed-forward part. mtp_pattern: of a module's layers.
  std::string pattern, mtp_pattern;
  std::int64_t mamba_heads = 0, mamba_head_dim = 64, mamba_groups = 8, mamba_state = 128, mamba_kernel = 4, mamba_chunk = 128;
  std::int64_t expert_latent = 0;  // width that experts see of a token, projected from hidden and back; 0: hidden
  AttentionKind attention = AttentionKind::flash;
  double dropout = 0;           // hidden and attention dropout (0: no dropout operators)
  bool head = true;             // language-model head and cross-entropy
  bool head_transform = false;  // BERT: dense, `activation`, norm before the head, and a bias on it
  bool head_bias = false;       // on the logits (Phi)
  bool pooler = false;          // BERT: dense + tanh on the first token, with the next-sentence classifier if there is a head
};
// Inputs "tokens" and, with a head, "labels" [batch, sequence_length]; "mtp0.tokens" and "mtp0.labels" of each module of prediction;
// "token_types" where there are some, "next_sentence_labels" [batch] with a pooler and a head. Requires: sizes that fit (see problems()).
[[nodiscard]] Graph transformer(const TransformerConfig& config, std::int64_t batch);
// Returns the contradictions, one sentence each: heads that do not divide, a position table that is too short. Empty: all fits.
[[nodiscard]] std::vector<std::string> problems(const TransformerConfig& config);

}  // namespace pcg::models
