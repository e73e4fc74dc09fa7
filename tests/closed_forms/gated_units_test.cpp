// What a gated layer keeps for its backward pass. Per token, in half precision, without dropouts, biases and scores (flash attention):
//   norm 1 reads                 2 h      (and norm 2; PyTorch's in pieces keep 6 h each instead: the fp32 copy, and what the weight
//   multiplies) qkv reads                    2 h      attention reads q, k, v     6 h attention gives, out reads   2 h norm 2 reads 2 h
//   gate and up read             2 h
//   gate gives 2 f, up gives 2 f, their product, which down reads, 2 f; the activation of the gate 2 f where its kernel stands apart
// A residual sum keeps nothing. So 16 h + 6 f where one kernel makes activation and product (Megatron-LM, fusions/fused_bias_swiglu.py: its
// backward pass computes the activation again), 24 h + 8 f in PyTorch (silu keeps its input, its product both factors).
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kGatedHidden = 512, kGatedFfn = 1536, kSequence = 256, kBatch = 4;

pcg::Graph llama(std::int64_t layers, bool gated, pcg::Unary::Kind activation, std::int64_t experts, std::int64_t kv_heads) {
  pcg::models::TransformerConfig c;
  c.layers = layers;
  c.hidden = kGatedHidden;
  c.ffn = kGatedFfn;
  c.heads = 8;
  c.kv_heads = kv_heads;
  c.vocab = 1024;
  c.sequence_length = kSequence;
  c.gated = gated;
  c.activation = activation;
  c.rms_norm = true;
  c.biases = false;
  c.experts = experts;
  return pcg::models::transformer(c, kBatch);
}

struct GatedCase {
  pcg::Framework framework = pcg::Framework::megatron;
  bool gated = true;
  pcg::Unary::Kind activation = pcg::Unary::Kind::silu;
  std::int64_t experts = 0, kv_heads = 8;
  search::GridConfig grid;
};

// One layer is what two more layers add, halved, so embedding and head cancel out.
double layer_bytes(const GatedCase& c) {
  const auto cluster = test::dgx_a100(1, c.grid.tensor);
  pcg::TrainingConfig training = test::megatron_training(kBatch);
  training.framework = c.framework;
  const auto activations = [&](std::int64_t layers) {
    const pcg::Graph model = llama(layers, c.gated, c.activation, c.experts, c.kv_heads);
    return test::kept_bytes(test::megatron(model, training, c.grid, cluster), cluster);
  };
  return (activations(4) - activations(2)) / 2;
}

const double kGatedTokens = static_cast<double>(kSequence * kBatch), kH = static_cast<double>(kGatedHidden),
             kF = static_cast<double>(kGatedFfn);
// What the two norms of a layer keep more where they run in pieces.
const double kNormsApart = 2 * (6 - 2) * kGatedTokens * kH;

}  // namespace

TEST_CASE("a fused gated unit keeps three inner tensors, one of two kernels four") {
  for (const pcg::Unary::Kind kind : {pcg::Unary::Kind::silu, pcg::Unary::Kind::gelu})
    for (const pcg::Framework fused : {pcg::Framework::megatron, pcg::Framework::generic}) {
      CHECK(layer_bytes({.framework = fused, .activation = kind}) == test::about(kGatedTokens * (16 * kH + 6 * kF)));
      CHECK(layer_bytes({.framework = pcg::Framework::pytorch, .activation = kind}) == test::about(kGatedTokens * (24 * kH + 8 * kF)));
    }
}

TEST_CASE("tensor parallelism divides the inner tensors of a gated unit") {
  // 2 h of each norm and of each input of a product is whole on every rank: 8 h; attention's inside and the inner tensors are cut.
  for (const int t : {2, 4}) CHECK(layer_bytes({.grid = {.tensor = t}}) == test::about(kGatedTokens * (8 * kH + (8 * kH + 6 * kF) / t)));
}

TEST_CASE("a plain unit keeps two inner tensors under every framework") {
  // up gives 2 f; its activation, which down reads, 2 f.
  for (const pcg::Framework f : {pcg::Framework::megatron, pcg::Framework::pytorch})
    CHECK(layer_bytes({.framework = f, .gated = false, .activation = pcg::Unary::Kind::gelu}) ==
          test::about(kGatedTokens * (16 * kH + 4 * kF) + (f == pcg::Framework::pytorch ? kNormsApart : 0)));
}

TEST_CASE("sigmoid has its derivative from what it gives: a fused unit keeps its input instead, no less") {
  const GatedCase fused{.activation = pcg::Unary::Kind::sigmoid};
  GatedCase apart = fused;
  apart.framework = pcg::Framework::pytorch;
  CHECK(layer_bytes(fused) + kNormsApart == test::about(layer_bytes(apart)));
}

TEST_CASE("experts' gated units are fused, too: one inner tensor of top-k tokens less") {
  const GatedCase fused{.experts = 4};
  GatedCase apart = fused;
  apart.framework = pcg::Framework::pytorch;
  CHECK(layer_bytes(apart) - layer_bytes(fused) == test::about(2 * kGatedTokens * 2 * kF + kNormsApart));  // top 2: two tokens for each
}

// With k of the heads for keys and values, attention reads 2 h (1 + 2 k) and a layer keeps (12 + 4 k) h + 6 f, which sequence parallelism
// divides whole. Llama-3 405B (arXiv 2407.21783, tables 3 and 4): h 16384, f 53248, k 1/16, 8192 tokens, tensor 8 make 533 MB a layer; the
// first of 16 stages has 16 micro-batches of 8 layers under way, 68 GB, beside 6.9 GB of weights: it fits into 80 GiB where optimizer and
// gradients are sharded, as Meta ran it without recomputation. One more inner tensor would be 82 GB.
TEST_CASE("grouped queries and sequence parallelism: a layer of Llama-3") {
  for (const int t : {1, 2, 4})
    CHECK(layer_bytes({.kv_heads = 4, .grid = {.tensor = t, .sequence_parallel = t > 1}}) ==
          test::about(kGatedTokens * ((12 + 4 * 0.5) * kH + 6 * kF) / t));
}

// Korthikanti et al. (arXiv 2205.05198, section 4.2.2): a product keeps its shard of what it reads, which is gathered again for the
// gradient of its weight. Both projections read one tensor, so where they are one product, a gated unit gathers as often as a plain one;
// where they are two, once more: (t - 1) x tokens x h x 2 bytes among t ranks.
TEST_CASE("a gated unit gathers its input again once where its projections are one product") {
  const auto gathered = [](pcg::Framework framework, bool gated) {
    const auto cluster = test::dgx_a100(1, 2);
    pcg::TrainingConfig training = test::megatron_training(kBatch);
    training.framework = framework;
    const auto bytes = [&](std::int64_t layers) {
      const pcg::Graph model = llama(layers, gated, pcg::Unary::Kind::silu, 0, 8);
      const pcg::Plan plan = test::megatron(model, training, {.tensor = 2, .sequence_parallel = true}, cluster);
      return sim::simulate_plan(plan, cluster).bytes.by_collective.at("all_gather").value();
    };
    return (bytes(4) - bytes(2)) / 2;
  };
  const double once = kGatedTokens * kH * 2;
  CHECK(gathered(pcg::Framework::megatron, true) == test::about(gathered(pcg::Framework::megatron, false)));
  CHECK(gathered(pcg::Framework::pytorch, true) - gathered(pcg::Framework::pytorch, false) == test::about(once));
}
