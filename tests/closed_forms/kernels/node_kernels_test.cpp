// What a framework does to the kernels of a node, one case a branch: the node's shape is made by hand, and each expected number is that of
// the kernels that the operator has by itself (pcg/work) and of the branch. In bf16 a number has 2 bytes.
#include "sim/kernels/node_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "pcg/work/work.hpp"
#include "tests/about.hpp"

namespace {

using base::Bytes;
using pcg::KernelKind;
using Kernels = std::vector<pcg::Kernel>;

pcg::TensorShape reals(std::vector<std::int64_t> sizes) { return {std::move(sizes), pcg::Element::real}; }

pcg::TrainingConfig training_in(pcg::Precision precision) {
  pcg::TrainingConfig training;
  training.precision = precision;
  return training;
}
const pcg::TrainingConfig kTrainedInHalf = training_in(pcg::Precision::bf16);

sim::NodeShape node(pcg::Operator op, std::vector<pcg::TensorShape> read, std::vector<pcg::TensorShape> outputs) {
  sim::NodeShape shape;
  shape.op = std::move(op);
  shape.needed.assign(read.size(), true);
  shape.read = std::move(read);
  shape.outputs = std::move(outputs);
  shape.trained = true;
  return shape;
}

double bytes_of(const Kernels& kernels) {
  double bytes = 0;
  for (const pcg::Kernel& k : kernels) bytes += k.bytes.value();
  return bytes;
}
double flops_of(const Kernels& kernels) {
  double flops = 0;
  for (const pcg::Kernel& k : kernels) flops += k.flops.value();
  return flops;
}
std::vector<double> each_of(const Kernels& kernels) {
  std::vector<double> bytes;
  for (const pcg::Kernel& k : kernels) bytes.push_back(k.bytes.value());
  return bytes;
}

// The operator's own kernels of a pass.
Kernels own_forward(const sim::NodeShape& n, const pcg::TrainingConfig& t = kTrainedInHalf) {
  return pcg::forward_kernels(n.op, n.read, n.outputs, t.precision);
}
Kernels own_backward(const sim::NodeShape& n, const pcg::TrainingConfig& t = kTrainedInHalf) {
  return pcg::input_gradient_kernels(n.op, n.read, n.outputs, n.needed, t.precision);
}
Kernels own_of_weights(const sim::NodeShape& n, const pcg::TrainingConfig& t = kTrainedInHalf) {
  return pcg::weight_gradient_kernels(n.op, n.read, n.outputs, t.precision);
}

// 2 samples of 8 positions and 100 classes: 1,600 logits.
constexpr double kLogits = 2 * 8 * 100;
sim::NodeShape loss() { return node(pcg::CrossEntropy{}, {reals({2, 8, 100}), {{2, 8}, pcg::Element::index}}, {reals({2, 8})}); }

// 2 samples, 4 heads, 8 queries and 8 keys of 16: 512 scores, of 2 bytes each.
constexpr double kScores = 2 * 4 * 8 * 8;
sim::NodeShape unfused_attention(bool causal) {
  return node(pcg::Attention{.heads = 4, .kv_heads = 4, .packed = false, .causal = causal},
              {reals({2, 8, 64}), reals({2, 8, 64}), reals({2, 8, 64})}, {reals({2, 8, 64})});
}
sim::NodeShape flash_attention() {
  sim::NodeShape n = unfused_attention(true);
  std::get<pcg::Attention>(n.op).flash = true;
  return n;
}

// 16 tokens of 64 numbers to 32.
constexpr double kRead = 16 * 64, kWritten = 16 * 32, kWeight = 64 * 32;
sim::NodeShape product() { return node(pcg::Linear{.out = 32}, {reals({16, 64}), reals({64, 32})}, {reals({16, 32})}); }

}  // namespace

TEST_CASE("a loss that is not fused moves its own bytes for each logit, in as many kernels as each pass has") {
  profiles::FrameworkProfile framework;
  framework.loss = {.forward = Bytes(20), .backward = Bytes(14), .forward_kernels = 5, .backward_kernels = 2};
  const Kernels forward = sim::forward_kernels(loss(), kTrainedInHalf, framework),
                backward = sim::input_gradient_kernels(loss(), kTrainedInHalf, framework);
  CHECK(each_of(forward) == std::vector(5, 20 * kLogits / 5));
  CHECK(each_of(backward) == std::vector(2, 14 * kLogits / 2));
  CHECK(flops_of(forward) == test::about(flops_of(own_forward(loss()))));
  CHECK(flops_of(backward) == test::about(flops_of(own_backward(loss()))));
  // In full precision one kernel does all, as it does where the framework has none of its own.
  const pcg::TrainingConfig full = training_in(pcg::Precision::fp32);
  CHECK(sim::forward_kernels(loss(), full, framework) == own_forward(loss(), full));
  CHECK(sim::input_gradient_kernels(loss(), full, framework) == own_backward(loss(), full));
  CHECK(sim::forward_kernels(loss(), kTrainedInHalf, {}) == own_forward(loss()));
  // Of a loss alone.
  CHECK(sim::forward_kernels(product(), kTrainedInHalf, framework) == own_forward(product()));
}

TEST_CASE("casts of a loss run before its forward kernels and after its backward kernels, by elements where they are strided") {
  profiles::FrameworkProfile framework;
  framework.loss = {.forward = Bytes(12), .backward = Bytes(12)};
  framework.loss_casts = {.backward = Bytes(10), .backward_kernels = 2, .forward_strided = Bytes(4.5)};
  const Kernels forward = sim::forward_kernels(loss(), kTrainedInHalf, framework),
                backward = sim::input_gradient_kernels(loss(), kTrainedInHalf, framework);
  CHECK(each_of(forward) == std::vector{4.5 * kLogits, 12 * kLogits});
  CHECK(each_of(backward) == std::vector{12 * kLogits, 5 * kLogits, 5 * kLogits});
  CHECK(forward[0].kind == pcg::KernelKind::strided);
  CHECK(forward[1].kind == pcg::KernelKind::loss);
  CHECK(backward[0].kind == pcg::KernelKind::loss);
  CHECK(backward[1].kind == pcg::KernelKind::elementwise);
  CHECK(sim::forward_kernels(product(), kTrainedInHalf, framework) == own_forward(product()));
}

TEST_CASE("scaling and masks of unfused attention move as many numbers for each score as the pass says, masks where it is causal") {
  profiles::FrameworkProfile eager;
  eager.unfused_scores = {.forward = 2, .backward = 5, .masked = 4};
  for (const bool causal : {false, true}) {
    const sim::NodeShape n = unfused_attention(causal);
    const double masked = causal ? 4 : 0;
    CHECK(bytes_of(sim::forward_kernels(n, kTrainedInHalf, eager)) - bytes_of(own_forward(n)) == test::about((2 + masked) * 2 * kScores));
    CHECK(bytes_of(sim::input_gradient_kernels(n, kTrainedInHalf, eager)) - bytes_of(own_backward(n)) ==
          test::about((5 + masked) * 2 * kScores));
    CHECK(sim::forward_kernels(n, kTrainedInHalf, eager).size() == own_forward(n).size() + 1);
    CHECK(sim::forward_kernels(n, kTrainedInHalf, {}) == own_forward(n));
  }
  CHECK(sim::forward_kernels(flash_attention(), kTrainedInHalf, eager) == own_forward(flash_attention()));
}

// Its batch is samples x heads, 8, and it sees 8 keys. The fused softmax moves 2 tensors of scores forward and 3 backward.
TEST_CASE("a softmax that does not take what it gets is as many kernels as each pass says, with their own bytes for each score") {
  const sim::NodeShape n = unfused_attention(false);
  const auto with = [](int heads, std::int64_t keys) {
    profiles::FrameworkProfile f;
    f.fallback_softmax = {
        .heads = heads, .keys = keys, .forward_kernels = 5, .backward_kernels = 4, .forward = Bytes(37), .backward = Bytes(41)};
    return f;
  };
  for (const auto& falls_back : {with(3, 8), with(8, 7)}) {  // 3 does not divide 8 heads; 8 keys are more than 7
    const Kernels forward = sim::forward_kernels(n, kTrainedInHalf, falls_back),
                  backward = sim::input_gradient_kernels(n, kTrainedInHalf, falls_back);
    CHECK(forward.size() == own_forward(n).size() - 1 + 5);
    CHECK(backward.size() == own_backward(n).size() - 1 + 4);
    CHECK(bytes_of(forward) - bytes_of(own_forward(n)) == test::about((37 - 2 * 2) * kScores));
    CHECK(bytes_of(backward) - bytes_of(own_backward(n)) == test::about((41 - 3 * 2) * kScores));
    CHECK(flops_of(forward) == test::about(flops_of(own_forward(n))));
    CHECK(sim::forward_kernels(n, training_in(pcg::Precision::fp32), falls_back) == own_forward(n, training_in(pcg::Precision::fp32)));
    CHECK(sim::forward_kernels(flash_attention(), kTrainedInHalf, falls_back) == own_forward(flash_attention()));
  }
  CHECK(sim::forward_kernels(n, kTrainedInHalf, with(8, 8)) == own_forward(n));
  CHECK(sim::forward_kernels(n, kTrainedInHalf, with(0, 1)) == own_forward(n));  // its kernel always runs
}

// Queries and keys of 2 x 8 x 64 numbers each are rotated, and normed over the 16 of each head: 2,048 numbers, 4 bytes of each fused.
TEST_CASE("rotations and norms apart are passes over the elements they take, with a strided one where the profile has bytes for it") {
  sim::NodeShape n = flash_attention();
  std::get<pcg::Attention>(n.op).rope = true;
  std::get<pcg::Attention>(n.op).qk_norm = true;
  n.read.push_back(reals({16}));
  n.read.push_back(reals({16}));
  n.needed = {true, true, true, false, false};
  constexpr double kElements = 2 * 2 * 8 * 64;
  profiles::FrameworkProfile rotates, norms;
  rotates.rotation = {.forward = Bytes(24),
                      .backward = Bytes(34),
                      .forward_kernels = 3,
                      .backward_kernels = 2,
                      .forward_strided = Bytes(10),
                      .backward_strided = Bytes(6)};
  norms.rms_norm = {.forward = Bytes(36), .backward = Bytes(76), .forward_kernels = 8, .backward_kernels = 12};
  const auto more = [&](const profiles::FrameworkProfile& f) {
    return std::pair(bytes_of(sim::forward_kernels(n, kTrainedInHalf, f)) - bytes_of(own_forward(n)),
                     bytes_of(sim::input_gradient_kernels(n, kTrainedInHalf, f)) - bytes_of(own_backward(n)));
  };
  CHECK(more(rotates).first == test::about((24 + 10 - 2 * 2) * kElements));
  CHECK(more(rotates).second == test::about((34 + 6 - 2 * 2) * kElements));
  CHECK(more(norms).first == test::about((36 - 2 * 2) * kElements));   // reads and writes
  CHECK(more(norms).second == test::about((76 - 3 * 2) * kElements));  // reads what came in and a gradient, writes one
  const Kernels forward = sim::forward_kernels(n, kTrainedInHalf, rotates);
  CHECK(std::ranges::count(forward, KernelKind::strided, &pcg::Kernel::kind) == 1);
  CHECK(forward.size() == own_forward(n).size() - 1 + 3 + 1);
  CHECK(flops_of(forward) == test::about(flops_of(own_forward(n))));
}

TEST_CASE("experts' biases in kernels of their own follow the last product forward and come first backward") {
  sim::NodeShape n = node(pcg::ExpertLinear{.out = 32}, {reals({4, 2, 3, 64}), reals({4, 64, 32})}, {reals({4, 2, 3, 32})});
  profiles::FrameworkProfile framework;
  framework.expert_bias = {.forward = Bytes(8), .backward = Bytes(14), .forward_kernels = 2, .backward_kernels = 1};
  CHECK(sim::forward_kernels(n, kTrainedInHalf, framework) == own_forward(n));
  n.unfused_biases = true;
  constexpr double kOut = 4 * 2 * 3 * 32;
  const Kernels forward = sim::forward_kernels(n, kTrainedInHalf, framework),
                backward = sim::input_gradient_kernels(n, kTrainedInHalf, framework);
  REQUIRE(forward.size() == 3);
  CHECK(forward[1].bytes.value() == test::about(8 * kOut / 2));
  CHECK(forward[2].bytes.value() == test::about(8 * kOut / 2));
  REQUIRE(backward.size() == 2);
  CHECK(backward[0].bytes.value() == test::about(14 * kOut));
}

TEST_CASE("an activation that its product computes leaves nothing but what a cast writes") {
  sim::NodeShape n = node(pcg::Unary{.kind = pcg::Unary::Kind::silu}, {reals({16, 64})}, {reals({16, 64})});
  profiles::FrameworkProfile fused;
  fused.fused_gated_activation = true;
  CHECK(sim::forward_kernels(n, kTrainedInHalf, fused) == own_forward(n));  // no gate
  n.activated_gate = true;
  CHECK(sim::forward_kernels(n, kTrainedInHalf, {}) == own_forward(n));
  CHECK(sim::forward_kernels(n, kTrainedInHalf, fused).empty());
  CHECK(sim::input_gradient_kernels(n, kTrainedInHalf, fused).empty());
  // A row of 1 byte (fp8 on Blackwell) for each number in place of 2, or on top of them.
  const pcg::TrainingConfig low = training_in(pcg::Precision::fp8);
  n.casts.output = n.casts.made_gradient = sim::Written::both;
  CHECK(bytes_of(sim::forward_kernels(n, low, fused)) == test::about(kRead));
  CHECK(bytes_of(sim::input_gradient_kernels(n, low, fused)) == test::about(kRead));
}

TEST_CASE("a product in fp8 reads both operands of each pass in one byte and adds up what is cast before") {
  sim::NodeShape n = product();
  n.casts.low = true;
  const pcg::TrainingConfig low = training_in(pcg::Precision::fp8);  // delayed scaling: rows of 1 byte and no columns
  CHECK(bytes_of(own_forward(n)) - bytes_of(sim::forward_kernels(n, low, {})) == test::about(kRead + kWeight));
  CHECK(bytes_of(own_backward(n)) - bytes_of(sim::input_gradient_kernels(n, low, {})) == test::about(kWritten + kWeight));
  CHECK(bytes_of(own_of_weights(n)) - bytes_of(sim::weight_gradient_kernels(n, low, {})) == test::about(kRead + kWritten));
  n.casts.input = n.casts.gradient = sim::Cast::complete;
  const double cast = 2 + 1;  // reads bf16, writes fp8
  CHECK(bytes_of(sim::forward_kernels(n, low, {})) == test::about(bytes_of(own_forward(n)) - (kRead + kWeight) + cast * kRead));
  CHECK(bytes_of(sim::input_gradient_kernels(n, low, {})) ==
        test::about(bytes_of(own_backward(n)) - (kWritten + kWeight) + cast * kWritten));
  CHECK(sim::forward_kernels(n, low, {}).front().kind == KernelKind::elementwise);
  CHECK(sim::forward_kernels(n, low, {}).back().kind == KernelKind::matmul);
}

// A quarter is cast here before it is gathered: reads 2 B and writes 1 B of it; where rows alone are multiplied, columns are made of all
// that was gathered, reading and writing a byte of each.
TEST_CASE("what is gathered cast is cast by its share, and its columns are made of the whole") {
  sim::NodeShape n = product();
  n.casts.low = true;
  n.casts.input = sim::Cast::complete;
  n.casts.input_share = 0.25;
  const pcg::TrainingConfig low = training_in(pcg::Precision::fp8);
  const auto casts = [&] {
    const Kernels all = sim::forward_kernels(n, low, {});
    return each_of({all.begin(), all.end() - 1});
  };
  CHECK(casts() == std::vector{(2 + 1) * kRead / 4});
  n.casts.copies_columns = true;
  CHECK(casts() == std::vector{(2 + 1) * kRead / 4, 2 * kRead});
  n.casts.input_share = 1;
  CHECK(casts() == std::vector{(2 + 1 + 1) * kRead});  // one kernel writes both
}

TEST_CASE("what is kept in fp8 is cast when it was read, and back before the backward pass") {
  sim::NodeShape n = product();
  n.casts_saved = true;
  const Kernels forward = sim::forward_kernels(n, kTrainedInHalf, {}), backward = sim::input_gradient_kernels(n, kTrainedInHalf, {});
  CHECK(forward.back().bytes.value() == test::about((2 + 1) * kRead));
  CHECK(forward.size() == own_forward(n).size() + 1);
  CHECK(backward.front().bytes.value() == test::about((2 + 1) * kRead));
  CHECK(backward.size() == own_backward(n).size() + 1);
}

// In bf16 a product writes 2 bytes for each weight, which `bytes` has; the buffer is read and written instead.
TEST_CASE("a product that adds to the gradient buffer moves twice the buffer's number less its own") {
  profiles::FrameworkProfile fused;
  fused.fused_gradient_accumulation = true;
  const auto added = [&](const sim::NodeShape& n) { return sim::weight_gradient_kernels(n, kTrainedInHalf, fused).front().added.value(); };
  CHECK(added(product()) == test::about((2 * 2 - 2) * kWeight));
  pcg::TrainingConfig full = kTrainedInHalf;
  full.fp32_gradients = true;
  CHECK(sim::weight_gradient_kernels(product(), full, fused).front().added.value() == test::about((2 * 4 - 2) * kWeight));
  CHECK(sim::weight_gradient_kernels(product(), kTrainedInHalf, {}).front().added.value() == 0);
  // A convolution is no product of that kernel.
  const sim::NodeShape convolution = node(pcg::Conv2d{.out = 8, .rows = {.kernel = 3}, .columns = {.kernel = 3}},
                                          {reals({2, 4, 10, 10}), reals({8, 4, 3, 3})}, {reals({2, 8, 8, 8})});
  CHECK(added(convolution) == 0);
}

// Two heads of 2 numbers: 14 in and 4 out of each of 6 positions.
TEST_CASE("a state space layer of a framework that has positions first reads and writes both ends once more, unless there is one sample") {
  profiles::FrameworkProfile positions_first;
  positions_first.sequence_first = true;
  const auto layer = [](std::int64_t samples) {
    return node(pcg::StateSpace{.heads = 2, .groups = 1, .state = 2},
                {reals({samples, 6, 14}), reals({8, 4}), reals({8}), reals({2}), reals({2}), reals({2}), reals({4})},
                {reals({samples, 6, 4})});
  };
  const auto copied = [&](std::int64_t samples, bool backward) {
    const sim::NodeShape n = layer(samples);
    const Kernels with = backward ? sim::input_gradient_kernels(n, kTrainedInHalf, positions_first)
                                  : sim::forward_kernels(n, kTrainedInHalf, positions_first);
    return bytes_of(with) - bytes_of(backward ? own_backward(n) : own_forward(n));
  };
  for (const bool backward : {false, true}) {
    CHECK(copied(2, backward) == test::about(2 * 2 * (2 * 6 * (14 + 4))));
    CHECK(copied(1, backward) == 0);
  }
  CHECK(sim::forward_kernels(layer(2), kTrainedInHalf, {}) == own_forward(layer(2)));
}

TEST_CASE("what joins or cuts weights alone runs nothing, and no gradient is made of weights that are not trained") {
  sim::NodeShape n = product();
  n.trained = false;
  CHECK(sim::weight_gradient_kernels(n, kTrainedInHalf, {}).empty());
  CHECK(sim::input_gradient_kernels(n, kTrainedInHalf, {}).size() == 1);
  n.stored = true;
  CHECK(sim::forward_kernels(n, kTrainedInHalf, {}).empty());
  CHECK(sim::input_gradient_kernels(n, kTrainedInHalf, {}).empty());
}
