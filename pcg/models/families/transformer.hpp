#pragma once
// Transformers described by numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

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
  bool qkv_biases = false;         // on queries, keys and values although `biases` is false
  bool parallel_residual = false;  // x + attention(norm1 x) + mlp(norm2 x)
  Unary::Kind activation = Unary::Kind::gelu;
  std::int64_t experts = 0, top_k = 2, expert_every = 1;  // every n-th layer's MLP is a mixture of experts
  double capacity_factor = 1;
  AttentionKind attention = AttentionKind::flash;
  double dropout = 0;           // hidden and attention dropout (0: no dropout operators)
  bool head = true;             // language-model head and cross-entropy
  bool head_transform = false;  // BERT: dense, `activation`, norm before the head, and a bias on it
  bool pooler = false;          // BERT: dense + tanh on the first token, with the next-sentence classifier if there is a head
};
// Inputs "tokens" and, with a head, "labels" [batch, sequence_length]; "token_types" where there are some, "next_sentence_labels" [batch]
// with a pooler and a head. Requires: sizes that fit (see problems()).
[[nodiscard]] Graph transformer(const TransformerConfig& config, std::int64_t batch);
// What does not fit together, one sentence each: heads that do not divide, a position table that is too short. Empty: all fits.
[[nodiscard]] std::vector<std::string> problems(const TransformerConfig& config);

}  // namespace pcg::models
