// Shapes of every operator's outputs and weights, by hand.
#include <doctest/doctest.h>

#include "pcg/operators/operator.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg {
namespace {

// The shape of the only output, with the weights that the operator asks for.
TensorShape inferred(const Operator& op, std::vector<TensorShape> activations) {
  const std::vector<TensorShape> weights = weight_shapes(op, activations);
  activations.insert(activations.end(), weights.begin(), weights.end());
  return infer_shapes(op, activations).at(0);
}
std::string refusal(const Operator& op, const std::vector<TensorShape>& inputs) {
  try {
    (void)infer_shapes(op, inputs);
  } catch (const ShapeError& e) { return e.what(); }
  return "";
}

TEST_CASE("tensors: elements, bytes and text") {
  CHECK(real({}).elements() == 1);
  CHECK(real({4, 512}).elements() == 2048);
  CHECK(bytes_of(real({4}), Precision::fp32).value() == 16);
  CHECK(bytes_of(real({4}), Precision::tf32).value() == 16);
  CHECK(bytes_of(real({4}), Precision::bf16).value() == 8);
  CHECK(bytes_of(real({4}), Precision::fp8).value() == 8);
  CHECK(bytes_of(index({4}), Precision::fp16).value() == 32);
  CHECK(to_text(index({4, 512})) == "[4, 512] index");
}

TEST_CASE("matrix products keep all but the last dim") {
  CHECK(inferred(Linear{.out = 12, .has_bias = true}, {real({8, 5, 6})}) == real({8, 5, 12}));
  CHECK(weight_shapes(Linear{.out = 12, .has_bias = true}, std::vector{real({8, 5, 6})}) == std::vector{real({6, 12}), real({12})});
  CHECK(weight_shapes(Linear{.out = 12, .transposed_weight = true}, std::vector{real({8, 6})}) == std::vector{real({12, 6})});
  CHECK(infer_shapes(BatchMatmul{}, std::vector{real({3, 4, 5}), real({3, 5, 7})}).at(0) == real({3, 4, 7}));
  CHECK(infer_shapes(BatchMatmul{.transpose_b = true}, std::vector{real({3, 4, 5}), real({3, 7, 5})}).at(0) == real({3, 4, 7}));
}

TEST_CASE("convolutions and pools: (size + 2 padding - kernel) / stride + 1, rounded down") {
  // The stem of a ResNet: 224 pixels, kernel 7, stride 2, padding 3: (224 + 6 - 7) / 2 + 1 = 112.
  const Conv2d stem{.out = 64, .rows = {.kernel = 7, .stride = 2, .padding = 3}, .columns = {.kernel = 7, .stride = 2, .padding = 3}};
  CHECK(inferred(stem, {real({2, 3, 224, 224})}) == real({2, 64, 112, 112}));
  CHECK(weight_shapes(Conv2d{.out = 128, .rows = {.kernel = 3}, .columns = {.kernel = 1}, .groups = 32, .has_bias = true},
                      std::vector{real({2, 64, 9, 9})}) == std::vector{real({128, 2, 3, 1}), real({128})});
  CHECK(inferred(Pool2d{.rows = {.kernel = 3, .stride = 2, .padding = 1}, .columns = {.kernel = 3, .stride = 2, .padding = 1}},
                 {real({2, 64, 112, 112})}) == real({2, 64, 56, 56}));
  CHECK(inferred(Pool2d{.rows = {.kernel = 0}, .columns = {.kernel = 0}}, {real({2, 64, 7, 7})}) == real({2, 64, 1, 1}));
}

TEST_CASE("norms keep the shape and carry a gain, and a bias unless rms") {
  CHECK(inferred(LayerNorm{}, {real({2, 5, 8})}) == real({2, 5, 8}));
  CHECK(weight_shapes(LayerNorm{}, std::vector{real({2, 8})}).size() == 2);
  CHECK(weight_shapes(LayerNorm{.rms = true}, std::vector{real({2, 8})}) == std::vector{real({8})});
  CHECK(weight_shapes(BatchNorm{}, std::vector{real({2, 8, 3, 3})}) == std::vector{real({8}), real({8})});
}

TEST_CASE("attention: packed queries, keys and values; grouped heads; cross attention") {
  // 8 query heads and 2 key and value heads of 4: (8 + 2 * 2) * 4 = 48 wide, 32 out.
  CHECK(inferred(Attention{.heads = 8, .kv_heads = 2}, {real({3, 10, 48})}) == real({3, 10, 32}));
  const Attention cross{.heads = 4, .kv_heads = 4, .packed = false};
  CHECK(infer_shapes(cross, std::vector{real({3, 10, 16}), real({3, 7, 16}), real({3, 7, 16})}).at(0) == real({3, 10, 16}));
  CHECK(weight_slots(Attention{.heads = 4, .kv_heads = 4, .packed = false, .has_bias = true}, 4) ==
        std::vector<bool>{false, false, false, true});
}

TEST_CASE("attention: values of another width, latent keys, weights of its own") {
  const Attention apart{.heads = 4, .kv_heads = 2, .packed = false};
  // Queries and keys of 4, values of 3: 4 heads of 3 come out.
  CHECK(infer_shapes(apart, std::vector{real({3, 10, 16}), real({3, 7, 8}), real({3, 7, 6})}).at(0) == real({3, 10, 12}));
  // Queries of 6, of which keys share 2; beside the other 4 each head has a value of 3.
  const Attention latent{.heads = 4, .kv_heads = 4, .packed = false, .latent = true};
  CHECK(infer_shapes(latent, std::vector{real({3, 10, 24}), real({3, 7, 28}), real({3, 7, 2})}).at(0) == real({3, 10, 12}));
  CHECK(refusal(latent, {real({3, 10, 24}), real({3, 7, 16}), real({3, 7, 2})}) ==
        "attention: queries of 6 numbers, 2 of them shared by all keys, with 4 for the rest of a key and its value");
  const Attention weighty{.heads = 8, .kv_heads = 2, .has_bias = true, .qk_norm = true, .sinks = true};
  CHECK(weight_shapes(weighty, std::vector{real({3, 10, 48})}) == std::vector{real({4}), real({4}), real({8}), real({32, 8})});
  CHECK(weight_slots(weighty, 5) == std::vector<bool>{false, true, true, true, true});
  CHECK(refusal(Attention{.heads = 2, .kv_heads = 2, .window = 3}, {real({3, 10, 12})}) ==
        "attention: a window of 3 keys, which only causal attention has");
  CHECK(refusal(Attention{.heads = 2, .kv_heads = 2, .causal = true, .chunked = true}, {real({3, 10, 12})}) ==
        "attention: chunks without a window, which is their length");
  CHECK(refusal(Attention{.heads = 2, .kv_heads = 2, .latent = true}, {real({3, 10, 12})}) ==
        "attention: latent keys are neither packed nor normalised head by head");
}

TEST_CASE("embeddings, losses and mixtures of experts") {
  CHECK(inferred(Embedding{.vocabulary = 100, .width = 8}, {index({2, 5})}) == real({2, 5, 8}));
  CHECK(inferred(EmbeddingBag{.vocabulary = 100, .width = 8}, {index({2, 5})}) == real({2, 8}));
  CHECK(infer_shapes(CrossEntropy{}, std::vector{real({2, 5, 100}), index({2, 5})}).at(0) == real({2, 5}));
  // Capacity: top 2 of 10 tokens over 8 experts, factor 1.25: ceil(2 * 10 * 1.25 / 8) = ceil(3.125) = 4.
  const std::vector in{real({2, 10, 6}), real({2, 10, 8})};
  CHECK(infer_shapes(MoeDispatch{.top_k = 2, .capacity_factor = 1.25}, in).at(0) == real({8, 2, 4, 6}));
  CHECK(inferred(ExpertLinear{.out = 12}, {real({8, 2, 4, 6})}) == real({8, 2, 4, 12}));
  CHECK(weight_shapes(ExpertLinear{.out = 12}, std::vector{real({8, 2, 4, 6})}) == std::vector{real({8, 6, 12})});
  CHECK(weight_shapes(ExpertLinear{.out = 12, .has_bias = true}, std::vector{real({8, 2, 4, 6})}) ==
        std::vector{real({8, 6, 12}), real({8, 12})});
  CHECK(infer_shapes(MoeCombine{.top_k = 2, .capacity_factor = 1.25}, std::vector{real({8, 2, 4, 6}), real({2, 10, 8})}).at(0) ==
        real({2, 10, 6}));
}

TEST_CASE("moving elements about") {
  CHECK(infer_shapes(Concat{.axis = -1}, std::vector{real({2, 3}), real({2, 4})}).at(0) == real({2, 7}));
  CHECK(infer_shapes(Split{.axis = 1, .sizes = {3, 4}}, std::vector{real({2, 7})}) == std::vector{real({2, 3}), real({2, 4})});
  CHECK(inferred(Slice{.axis = 1, .begin = 2, .length = 3}, {real({2, 7})}) == real({2, 3}));
  CHECK(inferred(Reshape{.sizes = {0, -1, 4}}, {real({2, 3, 8})}) == real({2, 6, 4}));
  CHECK(inferred(Transpose{.permutation = {0, 2, 1}}, {real({2, 3, 8})}) == real({2, 8, 3}));
  CHECK(inferred(Broadcast{.axis = 0, .size = 5}, {real({1, 8})}) == real({5, 8}));
  CHECK(inferred(Reduction{.axis = 1}, {real({2, 3, 8})}) == real({2, 8}));
  CHECK(infer_shapes(Binary{}, std::vector{real({2, 3, 8}), real({3, 1})}).at(0) == real({2, 3, 8}));
}

TEST_CASE("inputs that do not fit are refused in one sentence") {
  CHECK(refusal(Linear{.out = 4}, {real({}), real({1, 4})}) == "linear: input 0 is [], expected at least 1 dims");
  CHECK(refusal(Linear{.out = 4}, {real({2, 3}), real({4, 4})}) == "linear: input 1 is [4, 4], expected [3, 4]");
  CHECK(refusal(Linear{.out = 4}, {real({2, 3})}) == "linear: has 1 inputs, expected 2");
  CHECK(refusal(Binary{}, {real({2, 3}), real({2})}) == "binary: input 1 is [2], which does not broadcast to [2, 3]");
  CHECK(refusal(Attention{.heads = 8, .kv_heads = 3}, {real({2, 3, 56})}) ==
        "attention: 8 heads do not divide into 3 groups of one key and value head");
  CHECK(refusal(Attention{.heads = 8, .kv_heads = 8}, {real({2, 3, 50})}) ==
        "attention: input 0 is [2, 3, 50], its last dim does not divide into 24 heads");
  CHECK(refusal(Conv2d{.out = 4, .rows = {.kernel = 5}, .columns = {.kernel = 5}}, {real({2, 3, 4, 4}), real({4, 3, 5, 5})}) ==
        "conv2d: kernel 5 does not fit in 4 with padding 0");
  CHECK(refusal(Reshape{.sizes = {4, -1}}, {real({2, 3})}) == "reshape: [2, 3] does not become [4, -1]");
  CHECK(refusal(Split{.axis = 0, .sizes = {1, 2}}, {real({4})}) == "split: parts of 1, 2 add up to 3, axis 0 is 4");
  CHECK(refusal(Embedding{.vocabulary = 5, .width = 2}, {real({3}), real({5, 2})}) == "embedding: input 0 holds numbers, expected indices");
  CHECK(refusal(Softmax{.axis = 2}, {real({2, 3})}) == "softmax: axis 2 of a tensor of 2 dims");
  CHECK(refusal(MoeDispatch{.top_k = 3}, {real({1, 4, 2}), real({1, 4, 2})}) == "moe_dispatch: top 3 of 2 experts");
  CHECK(refusal(MoeDispatch{.top_k = 2, .groups = 4, .groups_per_token = 1}, {real({1, 4, 2}), real({1, 4, 4})}) ==
        "moe_dispatch: top 2 of 4 experts in 1 of 4 groups");
}

}  // namespace
}  // namespace pcg
