#include "pcg/models/families/fields.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace pcg::models {

std::span<const Field> fields() {
  using C = TransformerConfig;
  constexpr double kMany = 1 << 20;
  const auto of = [](std::string_view key, auto member, double least = 1, double most = kMostSize) {
    return Field{key, member, least, most};
  };
  const auto list = [](auto... each) { return std::array{each...}; };
  static const std::array all =
      list(of("layers", &C::layers, 1, kMostLayers), of("hidden", &C::hidden), of("heads", &C::heads), of("vocab", &C::vocab),
           of("sequence_length", &C::sequence_length), of("kv_heads", &C::kv_heads), of("head_dim", &C::head_dim),
           of("query_rank", &C::query_rank, 0), of("kv_rank", &C::kv_rank, 0), of("rope_dim", &C::rope_dim, 0),
           of("value_dim", &C::value_dim, 0), of("qk_norm", &C::qk_norm), of("wide_qk_norm", &C::wide_qk_norm),
           of("repeated_keys", &C::repeated_keys), of("sinks", &C::sinks), of("window", &C::window, 0),
           of("global_every", &C::global_every, 0), of("chunked", &C::chunked), of("expert_ffn", &C::expert_ffn), of("ffn", &C::ffn),
           of("gated", &C::gated), of("activation", &C::activation), of("causal", &C::causal), of("dropout", &C::dropout, 0, 1),
           of("rope", &C::rope), of("positions", &C::positions), of("token_types", &C::token_types, 0),
           of("embedding_width", &C::embedding_width), of("rms_norm", &C::rms_norm), of("post_norm", &C::post_norm),
           of("reordered_norm", &C::reordered_norm), of("embedding_norm", &C::embedding_norm), of("final_norm", &C::final_norm),
           of("sandwich_norm", &C::sandwich_norm), of("parallel_residual", &C::parallel_residual), of("single_norm", &C::single_norm),
           of("biases", &C::biases), of("qkv_biases", &C::qkv_biases), of("out_biases", &C::out_biases), of("mlp_biases", &C::mlp_biases),
           of("tied_embeddings", &C::tied_embeddings), of("head", &C::head), of("head_bias", &C::head_bias), of("softcap", &C::softcap),
           of("mtp_layers", &C::mtp_layers, 0, kMostLayers), of("mtp_shared", &C::mtp_shared), of("mamba_heads", &C::mamba_heads),
           of("mamba_head_dim", &C::mamba_head_dim), of("mamba_groups", &C::mamba_groups), of("mamba_state", &C::mamba_state),
           of("mamba_kernel", &C::mamba_kernel, 1, kMany), of("mamba_chunk", &C::mamba_chunk, 1, kMany),
           of("head_transform", &C::head_transform), of("pooler", &C::pooler), of("experts", &C::experts, 0),
           of("top_k", &C::top_k, 1, kMany), of("expert_every", &C::expert_every), of("capacity_factor", &C::capacity_factor, 0.01, 1000),
           of("expert_imbalance", &C::expert_imbalance, 1, 1000), of("expert_groups", &C::expert_groups, 1, kMany),
           of("groups_per_token", &C::groups_per_token, 1, kMany), of("dense_layers", &C::dense_layers, 0, kMostLayers),
           of("expert_latent", &C::expert_latent, 0), of("shared_ffn", &C::shared_ffn, 0), of("shared_gate", &C::shared_gate),
           of("expert_biases", &C::expert_biases), of("router", &C::sigmoid_router));
  return all;
}

const Field* field(std::string_view key) {
  const auto at = std::ranges::find(fields(), key, &Field::key);
  return at == fields().end() ? nullptr : &*at;
}

base::Yaml whole_section(const base::Yaml& file, base::Yaml section) {
  using base::Yaml;
  const Yaml* like = section.find("like");
  if (like == nullptr) return section;
  const Yaml* kind = nullptr;
  for (const Yaml::Entry& part : file.entries)
    if (const Yaml* found = part.value.find(like->scalar)) kind = found;
  BASE_CHECK(kind != nullptr, "nothing is called {}", like->scalar);
  Yaml whole = whole_section(file, *kind);
  section.erase("like");
  for (const Yaml::Entry& e : section.entries) whole.set(e.key, e.value);
  return whole;
}

}  // namespace pcg::models
