#pragma once
// The parts that transformer-like models share. Private to pcg/models.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// Return a size of the config, or its default where the config has 0.
[[nodiscard]] std::int64_t head_dim(const TransformerConfig& c);
[[nodiscard]] std::int64_t kv_heads(const TransformerConfig& c);
[[nodiscard]] std::int64_t ffn_size(const TransformerConfig& c);
[[nodiscard]] std::int64_t expert_ffn_size(const TransformerConfig& c);
// The part of a layer after its attention.
enum class FeedForward { mlp, experts };
// Layers count from 0; after the dense ones the last of every `expert_every` has experts, where the config has any.
[[nodiscard]] FeedForward feed_forward_of(const TransformerConfig& c, std::int64_t layer);
// The part of a layer of a hybrid, by its letter. Requires: `letter` is one of kPatternLetters.
enum class LayerPart { mamba, attention, mlp, experts };
inline constexpr std::string_view kPatternLetters = "M*-E";  // by LayerPart
[[nodiscard]] LayerPart part_of(char letter);
// Which keys a layer's queries may see.
enum class Reach { all, window };
// The last of every `global_every` layers sees all.
[[nodiscard]] Reach reach_of(const TransformerConfig& c, std::int64_t layer);

// All act on x [batch, sequence, hidden] and name their nodes "PREFIX.attention.qkv", "PREFIX.mlp.up", ...
class LayerBuilder {
 public:
  LayerBuilder(GraphBuilder& builder, const TransformerConfig& config) : b_(builder), c_(config) {}

  GraphTensorRef norm(const std::string& name, GraphTensorRef x);
  GraphTensorRef dropout(const std::string& name, GraphTensorRef x);  // x itself when the rate is 0
  GraphTensorRef add(const std::string& name, GraphTensorRef x, GraphTensorRef y);
  // Self-attention with its projections; position_bias: a table [buckets, heads] added to the scores.
  GraphTensorRef self_attention(const std::string& prefix, GraphTensorRef x, std::optional<GraphTensorRef> position_bias = {},
                                Reach reach = Reach::all);
  // Queries from x, keys and values from `memory`.
  GraphTensorRef cross_attention(const std::string& prefix, GraphTensorRef x, GraphTensorRef memory);
  GraphTensorRef mlp(const std::string& prefix, GraphTensorRef x);
  // With the shared expert, where there is one.
  GraphTensorRef mixture(const std::string& prefix, GraphTensorRef x);
  // A Mamba-2 mixer between its two projections.
  GraphTensorRef mamba(const std::string& prefix, GraphTensorRef x);
  // A layer of a hybrid: one part after its norm, added to what came in.
  GraphTensorRef single_part_layer(const std::string& prefix, GraphTensorRef x, LayerPart part);
  // A whole layer: attention and its feed-forward part with norms, dropout and residual additions, in the config's order.
  GraphTensorRef layer(const std::string& prefix, GraphTensorRef x, FeedForward part, std::optional<GraphTensorRef> position_bias = {},
                       Reach reach = Reach::all);

 private:
  [[nodiscard]] Attention core(Reach reach) const;
  GraphTensorRef packed_heads(const std::string& prefix, GraphTensorRef x, const std::vector<GraphTensorRef>& weights, Reach reach);
  GraphTensorRef latent_heads(const std::string& prefix, GraphTensorRef x, const std::vector<GraphTensorRef>& weights, Reach reach);
  GraphTensorRef activated(const std::string& prefix, const std::function<GraphTensorRef(const char*)>& widen);
  GraphTensorRef dense(const std::string& prefix, GraphTensorRef x, std::int64_t width);  // an MLP without dropout
  GraphTensorRef shared_expert(const std::string& prefix, GraphTensorRef x);
  GraphTensorRef attention_out(const std::string& prefix, GraphTensorRef heads);

  GraphBuilder& b_;
  const TransformerConfig& c_;
};

// Embedding of tokens, with positions, token types, norm and dropout as the config has them; its table too, for a tied head.
struct Embedded {
  GraphTensorRef x;
  GraphTensorRef table;
};
[[nodiscard]] Embedded embed_tokens(GraphBuilder& b, const TransformerConfig& c, std::int64_t batch);
// x + the first rows of a learned table "NAME" [positions, hidden].
[[nodiscard]] GraphTensorRef add_positions(GraphBuilder& b, const std::string& name, GraphTensorRef x, std::int64_t positions);
// A linear layer with a bias on x [batch, width], and the loss of its logits against "labels" [batch].
void add_classifier(GraphBuilder& b, std::int64_t classes, GraphTensorRef x);

}  // namespace pcg::models
