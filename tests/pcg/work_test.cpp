// FLOPs, bytes and kept tensors against closed forms.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "pcg/models/families/transformer.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/work/kernel.hpp"
#include "pcg/work/work.hpp"
#include "tests/about.hpp"

namespace pcg {
namespace {

struct Shapes {
  std::vector<TensorShape> in;
  std::vector<TensorShape> out;
};
Shapes shapes_of(const Operator& op, std::vector<TensorShape> activations) {
  const std::vector<TensorShape> weights = weight_shapes(op, activations);
  activations.insert(activations.end(), weights.begin(), weights.end());
  std::vector<TensorShape> out = infer_shapes(op, activations);
  return {std::move(activations), std::move(out)};
}
Shapes shapes_of(const Graph& g, const GraphNode& n) {
  std::vector<TensorShape> in;
  for (const GraphTensorRef t : n.inputs) in.push_back(g.shape(t));
  return {std::move(in), n.outputs};
}

double flops(const std::vector<Kernel>& kernels) {
  double total = 0;
  for (const Kernel& k : kernels) total += k.flops.value();
  return total;
}
double matmul_flops(const std::vector<Kernel>& kernels) {
  double total = 0;
  for (const Kernel& k : kernels) total += k.tensor_cores ? k.flops.value() : 0;
  return total;
}
std::vector<Kernel> input_gradient(const Operator& op, const Shapes& s, Precision p) {
  return input_gradient_kernels(op, s.in, s.out, std::vector<bool>(s.in.size(), true), p);
}

// --- kernels ------------------------------------------------------------------------------------------------------------

TEST_CASE("linear: three products over the same three sizes, each operand and result once") {
  const Linear op{.out = 7, .has_bias = true};
  const Shapes s = shapes_of(op, {real({2, 3, 5})});
  const std::vector<Kernel> forward = forward_kernels(op, s.in, s.out, Precision::fp16);
  REQUIRE(forward.size() == 1);
  CHECK(forward[0].flops.value() == 2 * 6 * 7 * 5);
  CHECK(forward[0].bytes.value() == 2 * (6 * 5 + 5 * 7 + 7 + 6 * 7));
  CHECK(forward[0].m == 6);
  CHECK(forward[0].n == 7);
  CHECK(forward[0].k == 5);
  const std::vector<Kernel> back = input_gradient(op, s, Precision::fp16);
  REQUIRE(back.size() == 1);
  CHECK(back[0].bytes.value() == 2 * (6 * 7 + 5 * 7 + 6 * 5));
  const std::vector<Kernel> weights = weight_gradient_kernels(op, s.in, s.out, Precision::fp16);
  REQUIRE(weights.size() == 2);  // and the bias, which is a sum over rows
  CHECK(weights[0].m == 5);
  CHECK(weights[0].n == 7);
  CHECK(weights[0].k == 6);
  CHECK(weights[1].bytes.value() == 2 * (6 * 7 + 7));
}

TEST_CASE("grouped convolution is a batch of small products") {
  // 64 channels in 32 groups of 2, 3 x 3, 128 out: each output element sums 2 * 9 products.
  const Conv2d op{.out = 128, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}, .groups = 32};
  const Shapes s = shapes_of(op, {real({2, 64, 5, 5})});
  const Kernel k = forward_kernels(op, s.in, s.out, Precision::fp32).at(0);
  CHECK(k.kind == KernelKind::convolution);
  CHECK(k.batch == 32);
  CHECK(k.m == 2 * 25);
  CHECK(k.n == 4);
  CHECK(k.k == 18);
  CHECK(k.flops.value() == 2.0 * 2 * 128 * 25 * 18);
  CHECK(flops(input_gradient(op, s, Precision::fp32)) == k.flops.value());
  CHECK(matmul_flops(weight_gradient_kernels(op, s.in, s.out, Precision::fp32)) == k.flops.value());
}

TEST_CASE("attention: 4 b s t (heads d) FLOPs forward; twice that backward unfused, 2.5 times flash") {
  const double square = 4.0 * 3 * 10 * 10 * 32;  // b 3, s 10, 8 heads of 4
  for (const bool causal : {false, true}) {
    const Attention unfused{.heads = 8, .kv_heads = 2, .causal = causal};
    const Shapes s = shapes_of(unfused, {real({3, 10, 48})});
    CHECK(matmul_flops(forward_kernels(unfused, s.in, s.out, Precision::fp16)) == square);  // the mask saves nothing
    CHECK(matmul_flops(input_gradient(unfused, s, Precision::fp16)) == 2 * square);
    Attention flash = unfused;
    flash.flash = true;
    const double done = causal ? square / 2 : square;
    CHECK(matmul_flops(forward_kernels(flash, s.in, s.out, Precision::fp16)) == done);
    CHECK(matmul_flops(input_gradient(flash, s, Precision::fp16)) == 2.5 * done);
    CHECK(model_flops(flash, s.in, s.out).value() == square);
    CHECK(masked_flops(flash, s.in, s.out).value() == (causal ? square / 2 : 0));  // of the square above the diagonal
    CHECK(masked_flops(unfused, s.in, s.out) == masked_flops(flash, s.in, s.out));
  }
}

TEST_CASE("attention with a window reads only the window") {
  // s 12, window 4: the first 4 queries meet 4 * 4 / 2 = 8 keys (half of the diagonal is counted), the other 8 meet 4 each: 40 of 144.
  Attention op{.heads = 2, .kv_heads = 2, .causal = true, .flash = true, .window = 4};
  const Shapes s = shapes_of(op, {real({3, 12, 30})});
  const double pair = 4.0 * 3 * 2 * 5;  // multiply and add, q.k and scores.v, 3 samples, 2 heads of 5
  CHECK(matmul_flops(forward_kernels(op, s.in, s.out, Precision::bf16)) == test::about(40 * pair));
  CHECK(matmul_flops(input_gradient(op, s, Precision::bf16)) == test::about(2.5 * 40 * pair));
  CHECK(forward_kernels(op, s.in, s.out, Precision::bf16).at(0).n == 4);
  CHECK(model_flops(op, s.in, s.out).value() == 12 * 4 * pair);  // as wide as the window; the mask takes the corner of 8
  CHECK(masked_flops(op, s.in, s.out).value() == test::about(8 * pair));
  // A window as long as the sequence is none.
  op.window = 12;
  Attention without = op;
  without.window = 0;
  CHECK(forward_kernels(op, s.in, s.out, Precision::bf16) == forward_kernels(without, s.in, s.out, Precision::bf16));
  // Chunks of 5 of 12: two triangles of 25 / 2 and one of 4 / 2.
  op.window = 5;
  op.chunked = true;
  CHECK(matmul_flops(forward_kernels(op, s.in, s.out, Precision::bf16)) == test::about(27 * pair));
}

TEST_CASE("latent attention: scores as wide as a query, values of their own width, keys laid out once") {
  // 2 heads, queries of 6 of which 2 are shared, values of 3; 3 samples of 10.
  const Attention op{.heads = 2, .kv_heads = 2, .packed = false, .flash = true, .rope = true, .latent = true};
  const Shapes s = shapes_of(op, {real({3, 10, 12}), real({3, 10, 14}), real({3, 10, 2})});
  const double squares = 3.0 * 2 * 10 * 10;
  const std::vector<Kernel> forward = forward_kernels(op, s.in, s.out, Precision::bf16);
  CHECK(matmul_flops(forward) == 2 * squares * (6 + 3));
  CHECK(model_flops(op, s.in, s.out).value() == 2 * squares * (6 + 3));
  // Scores again and gradients of q and k, 6 wide; gradients of the scores and of v, 3 wide.
  CHECK(matmul_flops(input_gradient(op, s, Precision::bf16)) == 2 * squares * (3 * 6 + 2 * 3));
  REQUIRE(forward.size() == 3);
  CHECK(forward[0].bytes.value() == 2 * 2 * 30 * (2 * 2 + 2));           // the shared dims of 2 queries, and of the key once
  CHECK(forward[1].bytes.value() == 2 * 30 * (14 + 2 + 2 * 6 + 2 * 3));  // in as projected, out by head
  CHECK(forward[2].bytes.value() == 2 * 30 * (2 * 6 + 2 * 6 + 2 * 3 + 2 * 3));
  const Saved saved = saved_for_backward(op, s.in, s.out, Precision::bf16);
  CHECK(saved.inputs == std::vector<bool>{true, false, false});
  CHECK(saved.own.value() == 2 * 30 * (2 * 6 + 2 * 3));
}

TEST_CASE("norms of queries and keys: kernels of their own, and what they give is kept") {
  const Attention op{.heads = 4, .kv_heads = 2, .flash = true, .qk_norm = true, .sinks = true};
  const Shapes s = shapes_of(op, {real({3, 10, 40})});  // heads of 5
  const std::vector<Kernel> forward = forward_kernels(op, s.in, s.out, Precision::bf16);
  REQUIRE(forward.size() == 3);
  CHECK(forward[0].bytes.value() == 2 * 2 * 30 * 20);
  CHECK(forward[1].bytes.value() == 2 * 2 * 30 * 10);
  CHECK(forward[2].bytes.value() == 2 * (30 * (20 + 2 * 10 + 20) + 4));  // q, k, v, the output, and the sinks
  CHECK(saved_for_backward(op, s.in, s.out, Precision::bf16).own.value() == 2 * 30 * (20 + 10));
  CHECK(weight_gradient_kernels(op, s.in, s.out, Precision::bf16).size() == 3);
}

TEST_CASE("keys and values that are repeated are copied for each head that shares them, and the copies are kept") {
  const Attention op{.heads = 4, .kv_heads = 2, .flash = true, .repeated_keys = true};
  const Shapes s = shapes_of(op, {real({3, 10, 40})});  // heads of 5: 10 numbers of keys and 10 of values each position
  const std::vector<Kernel> forward = forward_kernels(op, s.in, s.out, Precision::bf16);
  REQUIRE(forward.size() == 2);
  CHECK(forward[0].bytes.value() == 2 * 30 * (20 + 2 * 20));
  CHECK(forward[1].bytes.value() == 2 * 30 * (20 + 2 * 20 + 20));  // q, k and v of four heads, the output
  CHECK(saved_for_backward(op, s.in, s.out, Precision::bf16).own.value() == 2 * 30 * 20);
  const Attention alone{.heads = 4, .kv_heads = 4, .flash = true, .repeated_keys = true};
  const Shapes a = shapes_of(alone, {real({3, 10, 60})});
  CHECK(forward_kernels(alone, a.in, a.out, Precision::bf16).size() == 1);
}

TEST_CASE("flash attention never touches the scores in memory") {
  const Attention op{.heads = 8, .kv_heads = 8, .flash = true};
  const Shapes s = shapes_of(op, {real({3, 1000, 96})});
  CHECK(forward_kernels(op, s.in, s.out, Precision::fp16).at(0).bytes.value() == 2 * 3000 * (96 + 32));
  const Saved saved = saved_for_backward(op, s.in, s.out, Precision::fp16);
  CHECK(saved.own.value() == 0);
  CHECK(saved.outputs.at(0));
}

TEST_CASE("cut by heads, an attention's shards do the whole work between them") {
  const Attention whole{.heads = 8, .kv_heads = 4, .dropout = 0.1};
  const Shapes s = shapes_of(whole, {real({3, 10, 64})});
  const Shapes half{{real({3, 10, 32})}, {real({3, 10, 16})}};
  const Operator shard = shard_operator(whole, s.in, half.in);
  CHECK(std::get<Attention>(shard).heads == 4);
  CHECK(std::get<Attention>(shard).kv_heads == 2);
  const std::vector<Kernel> all = forward_kernels(whole, s.in, s.out, Precision::fp16);
  const std::vector<Kernel> part = forward_kernels(shard, half.in, half.out, Precision::fp16);
  REQUIRE(all.size() == part.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].flops.value() == 2 * part[i].flops.value());
    CHECK(all[i].bytes.value() == 2 * part[i].bytes.value());
  }
  CHECK(saved_for_backward(whole, s.in, s.out, Precision::fp16).own.value() ==
        2 * saved_for_backward(shard, half.in, half.out, Precision::fp16).own.value());
}

TEST_CASE("cut along the sequence, each shard's queries meet all keys") {
  for (const bool flash : {false, true}) {
    const Attention whole{.heads = 8, .kv_heads = 4, .flash = flash};
    const Shapes s = shapes_of(whole, {real({3, 10, 64})});
    const Shapes half{{real({3, 5, 64})}, {real({3, 5, 32})}};
    const Operator shard = shard_operator(whole, s.in, half.in);
    CHECK(std::get<Attention>(shard).heads == 8);
    CHECK(matmul_flops(forward_kernels(whole, s.in, s.out, Precision::fp16)) ==
          2 * matmul_flops(forward_kernels(shard, half.in, half.out, Precision::fp16)));
    CHECK(matmul_flops(input_gradient(whole, s, Precision::fp16)) == 2 * matmul_flops(input_gradient(shard, half, Precision::fp16)));
    const double own = saved_for_backward(whole, s.in, s.out, Precision::fp16).own.value();
    CHECK(own == 2 * saved_for_backward(shard, half.in, half.out, Precision::fp16).own.value());
  }
  // Flash: its own queries and output, 15 rows of 32 each, and all keys and values, 30 rows of 16 each.
  const Attention flash{.heads = 8, .kv_heads = 4, .flash = true};
  const std::vector whole{real({3, 10, 64})}, half{real({3, 5, 64})};
  const Kernel k = forward_kernels(shard_operator(flash, whole, half), half, std::vector{real({3, 5, 32})}, Precision::fp16).at(0);
  CHECK(k.bytes.value() == 2 * (2 * 15 * 32 + 2 * 30 * 16));
}

TEST_CASE("a gradient that nobody wants costs nothing, but for a fused activation") {
  const Linear op{.out = 7, .activation = Activation::relu};
  const Shapes s = shapes_of(op, {real({2, 5})});
  const std::vector<Kernel> kernels = input_gradient_kernels(op, s.in, s.out, {false, false}, Precision::fp32);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].name == "linear.activation_gradient");
  CHECK(input_gradient_kernels(Binary{}, std::vector{real({2}), real({2})}, std::vector{real({2})}, {true, true}, Precision::fp32).empty());
}

TEST_CASE("a pool of the whole plane, said of one side or of both, adds each element once") {
  for (const int rows : {0, 2}) {
    const Pool2d op{.rows = {.kernel = rows}, .columns = {.kernel = 0}};
    const Shapes s = shapes_of(op, {real({2, 3, 4, 5})});
    CHECK(flops(forward_kernels(op, s.in, s.out, Precision::fp32)) == 2 * 3 * 4 * 5);
  }
}

TEST_CASE("views cost nothing forward") {
  CHECK(forward_kernels(Reshape{.sizes = {6}}, std::vector{real({2, 3})}, std::vector{real({6})}, Precision::fp32).empty());
  CHECK(forward_kernels(Input{real({2})}, {}, std::vector{real({2})}, Precision::fp32).empty());
}

// --- whole models -------------------------------------------------------------------------------------------------------

TEST_CASE("a GPT's model FLOPs are 72 B L s h^2 (1 + s / 6h + V / 12hL) forward and backward") {
  // Narayanan et al., arXiv 2104.04473, equation 3, without recomputation: three times the forward pass.
  CHECK(rc::check([] {
    const std::int64_t heads = *rc::gen::inRange(1, 5);
    models::TransformerConfig c{.layers = *rc::gen::inRange(1, 5),
                                .hidden = heads * *rc::gen::inRange(1, 20),
                                .heads = heads,
                                .vocab = *rc::gen::inRange(1, 200),
                                .sequence_length = *rc::gen::inRange(1, 50)};
    c.attention = *rc::gen::element(models::AttentionKind::flash, models::AttentionKind::unfused);
    const std::int64_t batch = *rc::gen::inRange(1, 5);
    const double B = static_cast<double>(batch), L = static_cast<double>(c.layers), s = static_cast<double>(c.sequence_length);
    const double h = static_cast<double>(c.hidden), V = static_cast<double>(c.vocab);
    const double formula = 72 * B * L * s * h * h * (1 + s / (6 * h) + V / (12 * h * L));
    RC_ASSERT(std::abs(3 * models::transformer(c, batch).forward_flops().value() / formula - 1) < 1e-12);
  }));
}

TEST_CASE("where every gradient is wanted, backward products are twice the forward ones") {
  const Graph g = models::transformer(
      {.layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5, .attention = models::AttentionKind::unfused}, 3);
  for (const GraphNode& n : g.nodes()) {
    const Shapes s = shapes_of(g, n);
    const double forward = matmul_flops(forward_kernels(n.op, s.in, s.out, Precision::fp16));
    const double backward =
        matmul_flops(input_gradient(n.op, s, Precision::fp16)) + matmul_flops(weight_gradient_kernels(n.op, s.in, s.out, Precision::fp16));
    CHECK_MESSAGE(backward == 2 * forward, n.name);
    CHECK(model_flops(n.op, s.in, s.out).value() == forward);
  }
}

// Bytes that backward needs of one block: every kept tensor once, and what operators keep of their own.
double kept_bytes(const Graph& g, std::string_view block, double* attention_only = nullptr) {
  std::set<GraphTensorRef> kept;
  double bytes = 0;
  for (std::size_t i = 0; i < g.nodes().size(); ++i) {
    const GraphNode& n = g.nodes()[i];
    if (g.blocks()[static_cast<std::size_t>(n.block)].name != block) continue;
    const Shapes s = shapes_of(g, n);
    const Saved saved = saved_for_backward(n.op, s.in, s.out, Precision::fp16);
    for (std::size_t j = 0; j < saved.inputs.size(); ++j)
      if (saved.inputs[j]) kept.insert(n.inputs[j]);
    for (std::size_t j = 0; j < saved.outputs.size(); ++j)
      if (saved.outputs[j]) kept.insert({GraphNodeId(i), static_cast<int>(j)});
    bytes += saved.own.value();
    if (attention_only) *attention_only += saved.own_attention.value();
  }
  for (const GraphTensorRef t : kept) bytes += bytes_of(g.shape(t), Precision::fp16).value();
  return bytes;
}

TEST_CASE("a transformer layer keeps s b h (34 + 5 a s / h) bytes") {
  // Korthikanti et al., arXiv 2205.05198, equation 1, 16-bit: attention 11 sbh + 5 a s^2 b, MLP 19 sbh, layer norms 4 sbh. Without
  // dropout the two masks of sbh and, in the attention, the mask and the dropped copy (3 a s^2 b) are not kept.
  CHECK(rc::check([] {
    const std::int64_t heads = *rc::gen::inRange(1, 5);
    models::TransformerConfig c{
        .layers = 3, .hidden = heads * *rc::gen::inRange(1, 9), .heads = heads, .vocab = 7, .sequence_length = *rc::gen::inRange(1, 30)};
    c.attention = models::AttentionKind::unfused;
    c.dropout = *rc::gen::element(0.0, 0.1);
    const std::int64_t batch = *rc::gen::inRange(1, 5);
    const double b = static_cast<double>(batch), s = static_cast<double>(c.sequence_length), h = static_cast<double>(c.hidden),
                 a = static_cast<double>(heads);
    double scores = 0;
    const double bytes = kept_bytes(models::transformer(c, batch), "layer 1", &scores);
    const bool masks = c.dropout > 0;
    RC_ASSERT(bytes == (masks ? 34 : 32) * s * b * h + (masks ? 5 : 2) * a * s * s * b);
    RC_ASSERT(scores == (masks ? 5 : 2) * a * s * s * b);  // what selective recomputation frees: 34 sbh are left
  }));
}

TEST_CASE("a layer of latent attention keeps ranks twice, and queries, keys, values and the output once") {
  // Per token: x and its norm, twice h each for both parts; what either norm of a rank reads and gives; H queries of n + r; keys of n + r
  // and values of v laid out; the output of H v, which its projection reads; 4 h before and behind the activation.
  models::TransformerConfig c{.layers = 2, .hidden = 8, .heads = 2, .head_dim = 3, .vocab = 11, .sequence_length = 5, .positions = -1};
  c.rope = true;
  c.query_rank = 6;
  c.kv_rank = 4;
  c.rope_dim = 2;
  c.value_dim = 7;
  const double per_token = 4 * 8 + 2 * 6 + 2 * 4 + 2 * 5 + 2 * (5 + 7) + 2 * 7 + 2 * 32;
  CHECK(kept_bytes(models::transformer(c, 3), "layer 1") == 2 * 15 * per_token);
}

TEST_CASE("the output layer keeps 4 s b v bytes of softmax in 32 bits") {
  // Korthikanti et al., section 4.3: input of the last layer norm 2 sbh, of the output layer 2 sbh, logits 4 sbv; labels are 8 B each.
  const Graph g = models::transformer({.layers = 1, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5}, 3);
  CHECK(kept_bytes(g, "head") == 2 * (2 * 15 * 8) + 4 * 15 * 11 + 8 * 15);
}

}  // namespace
}  // namespace pcg
