// Training in low precision: linear layers inside of blocks alone are in it. What they multiply is cast, by kernels with the bytes of
// Transformer Engine's recipes or by those that make it; attention, router, norms, embedding and head stay in bf16.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/yaml/parse.hpp"
#include "pcg/plan/low_precision.hpp"
#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/kernel_cost.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kInHalf = 512, kSampleTokens = 256;  // width h, and tokens of a sample, of the model below

pcg::TrainingConfig in_precision(pcg::Precision precision, pcg::Fp8Scaling recipe = pcg::Fp8Scaling::delayed) {
  pcg::TrainingConfig training;
  training.precision = precision;
  training.fp8_recipe = recipe;
  return training;
}

// What the simulator takes for a kernel in such a training.
sim::KernelCost kernel_cost(const sim::Oracle& oracle, const pcg::Kernel& k, const pcg::TrainingConfig& training) {
  return sim::kernel_cost(oracle.device(base::DeviceId(0)), oracle.framework(training), k,
                          {training.precision, oracle.cluster().device_count(), training.constant_tokens});
}

// Layers of: norm, qkv, attention, projection, addition; norm, up, gelu, down, addition.
pcg::Plan low_precision_plan(int layers, const pcg::TrainingConfig& training, const topology::Cluster& cluster,
                             const search::GridConfig& config = {}) {
  pcg::models::TransformerConfig t;
  t.layers = layers;
  t.hidden = 512;
  t.heads = 8;
  t.vocab = 1024;
  t.sequence_length = 256;
  const pcg::Graph model = pcg::models::transformer(t, 1);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  return search::megatron_plan({model, section, cluster, training, oracle}, config).value();
}

topology::Cluster some_gpus(const std::string& preset, int gpus = 1) {
  return topology::load_cluster(
      topology::expand_cluster(base::parse_yaml("{preset: " + preset + ", node.gpus.count: " + std::to_string(gpus) + "}", "test"),
                               "cluster"),
      "cluster");
}

// Bytes per token and h of one more layer, by the name of the kernel.
using PassBytes = std::map<std::string, double>;
template <class Kernels>
PassBytes bytes_of_layer(const Kernels& kernels_of, const pcg::TrainingConfig& training, bool copies_columns) {
  const topology::Cluster cluster = some_gpus("dgx-b200");
  const auto add = [&](int layers, double sign, PassBytes& bytes) {
    const pcg::Plan plan = low_precision_plan(layers, training, cluster);
    const sim::Dataflow data = sim::dataflow_of(plan);
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      if (!plan.pcg.nodes()[n].computes()) continue;
      for (const pcg::Kernel& k : kernels_of(sim::node_shape(plan, data.flow, n, copies_columns), plan.training))
        bytes[std::string(k.name)] += sign * k.bytes.value() / (kInHalf * kSampleTokens);
    }
  };
  PassBytes bytes;
  add(3, 1, bytes);
  add(2, -1, bytes);
  return bytes;
}
PassBytes forward_bytes(const pcg::TrainingConfig& training, bool copies_columns = false) {
  const auto& framework = profiles::framework_profile(pcg::Framework::generic);
  return bytes_of_layer([&](const auto& s, const auto& t) { return sim::forward_kernels(s, t, framework); }, training, copies_columns);
}
PassBytes backward_bytes(const pcg::TrainingConfig& training, bool copies_columns = false) {
  const auto& framework = profiles::framework_profile(pcg::Framework::generic);
  return bytes_of_layer([&](const auto& s, const auto& t) { return sim::input_gradient_kernels(s, t, framework); }, training,
                        copies_columns);
}

bool says(const PassBytes& bytes, const char* name) { return bytes.contains(name) && bytes.at(name) > 0; }

double kept_by_layer(const pcg::TrainingConfig& training, const char* preset) {
  const topology::Cluster cluster = some_gpus(preset);
  const auto kept = [&](int layers) { return sim::memory_of(low_precision_plan(layers, training, cluster), cluster).activations.value(); };
  return kept(3) - kept(2);
}

// Bytes that the collectives of two more layers move, of each kind, under sequence parallelism over four GPUs.
std::map<std::string, double> moved_by_layers(const pcg::TrainingConfig& training) {
  const topology::Cluster cluster = some_gpus("dgx-b200", 4);
  search::GridConfig c;
  c.tensor = 4;
  c.sequence_parallel = true;
  std::map<std::string, double> moved;
  sim::SimulationConfig ring;
  ring.collectives.algorithm = sim::Algorithm::ring;
  for (const int layers : {4, 2})
    for (const auto& [kind, bytes] :
         sim::simulate_plan(low_precision_plan(layers, training, cluster, c), cluster, ring).bytes.by_collective)
      moved[std::string(kind)] += (layers == 4 ? 1 : -1) * bytes.value();
  return moved;
}

}  // namespace

TEST_CASE("what products read is kept in the bytes of the recipe") {
  // Of qkv's (h), up's (h) and down's (4 h) operands: 2 - x bytes less. What the projection reads is kept by attention in bf16 as well: x h
  // more. Inputs of norms, of attention and of gelu are as before.
  const auto saved = [](const pcg::TrainingConfig& low, const char* preset) {
    return (kept_by_layer(in_precision(pcg::Precision::bf16), preset) - kept_by_layer(low, preset)) / (kInHalf * kSampleTokens);
  };
  const auto closed_form = [](double x) { return 6 * (2 - x) - x; };
  CHECK(saved(in_precision(pcg::Precision::fp8), "dgx-h100") == test::about(closed_form(1)));
  CHECK(saved(in_precision(pcg::Precision::fp8, pcg::Fp8Scaling::current), "dgx-h100") == test::about(closed_form(1)));
  CHECK(saved(in_precision(pcg::Precision::fp8, pcg::Fp8Scaling::blockwise), "dgx-h100") == test::about(closed_form(1 + 4.0 / 128)));
  CHECK(saved(in_precision(pcg::Precision::mxfp8), "dgx-b200") == test::about(closed_form(1 + 1.0 / 32)));
  CHECK(saved(in_precision(pcg::Precision::nvfp4), "dgx-b200") == test::about(closed_form(0.5 + 1.0 / 16)));
}

TEST_CASE("delayed scaling casts what no other kernel does, on Hopper with a transposed copy") {
  // Forward: what attention made (h); norms and gelu write fp8 themselves. Backward: the gradients of qkv (3 h), of the projection and of
  // down (h each), which come from attention and from additions; gelu's gradient kernel casts that of up.
  for (const bool hopper : {false, true}) {
    const PassBytes forward = forward_bytes(in_precision(pcg::Precision::fp8), hopper),
                    backward = backward_bytes(in_precision(pcg::Precision::fp8), hopper),
                    half = forward_bytes(in_precision(pcg::Precision::bf16));
    const double columns = hopper ? 1 : 0;
    CHECK(forward.at("cast of an input") == test::about(2 + 1 + columns));
    CHECK(backward.at("cast of a gradient") == test::about(5 * (2 + 1 + columns)));
    CHECK_FALSE(says(forward, "amax of an input"));
    CHECK_FALSE(says(backward, "amax of a gradient"));
    // Two norms of h and a gelu of 4 h write fp8 in place of bf16.
    CHECK(forward.at("layer_norm.forward") - half.at("layer_norm.forward") == test::about(2 * (1 + columns - 2)));
    CHECK(forward.at("unary.forward") - half.at("unary.forward") == test::about(4 * (1 + columns - 2)));
  }
}

TEST_CASE("current scaling casts all, after passes for what no other kernel has found the largest value of") {
  const auto training = in_precision(pcg::Precision::fp8, pcg::Fp8Scaling::current);
  const PassBytes forward = forward_bytes(training), backward = backward_bytes(training);
  CHECK(forward.at("cast of an input") == test::about((1 + 1 + 1 + 4) * 3));
  CHECK(forward.at("amax of an input") == test::about(1 * 2));  // attention's
  CHECK(backward.at("cast of a gradient") == test::about((3 + 1 + 4 + 1) * 3));
  CHECK(backward.at("amax of a gradient") == test::about((3 + 1 + 1) * 2));
}

TEST_CASE("scales of blocks make rows and columns of one read") {
  const PassBytes blocks = forward_bytes(in_precision(pcg::Precision::fp8, pcg::Fp8Scaling::blockwise)),
                  mx = forward_bytes(in_precision(pcg::Precision::mxfp8)), four = forward_bytes(in_precision(pcg::Precision::nvfp4));
  CHECK(blocks.at("cast of an input") == test::about((1 + 1 + 1 + 4) * (2 + 2 * (1 + 4.0 / 128))));
  CHECK_FALSE(says(blocks, "amax of an input"));
  CHECK(mx.at("cast of an input") == test::about((1 + 1 + 1) * (2 + 2 * (1 + 1.0 / 32))));  // gelu casts for down
  CHECK(mx.at("scales of an input") == test::about((1 + 1 + 1 + 4) * 2 * 2 / 32.0));
  CHECK(four.at("cast of an input") == test::about((1 + 1 + 1 + 4) * (2 + 2 * (0.5 + 1.0 / 16))));
  CHECK(four.at("amax of an input") == test::about((1 + 1 + 1 + 4) * 2));
}

TEST_CASE("products read operands in their own bytes and write bf16") {
  // Per token and h: qkv h -> 3 h, projection h -> h, up h -> 4 h, down 4 h -> h; weights 12 h^2 over all tokens.
  const double weights = 12 * kInHalf / kSampleTokens, read = 1 + 1 + 1 + 4, written = 3 + 1 + 4 + 1;
  const auto products = [](const pcg::TrainingConfig& t) { return forward_bytes(t).at("linear.forward"); };
  const double half = products(in_precision(pcg::Precision::bf16));
  CHECK(half - products(in_precision(pcg::Precision::fp8)) == test::about(weights + read));
  CHECK(half - products(in_precision(pcg::Precision::nvfp4)) == test::about((2 - 0.5625) * (weights + read)));
  CHECK(products(in_precision(pcg::Precision::fp8)) > 2 * written);
}

TEST_CASE("what is gathered for products is cast before, sums are added up in bf16") {
  const auto half = moved_by_layers(in_precision(pcg::Precision::bf16));
  for (const auto& [training, share] : {std::pair{in_precision(pcg::Precision::fp8), 0.5},
                                        {in_precision(pcg::Precision::mxfp8), (1 + 1.0 / 32) / 2},
                                        {in_precision(pcg::Precision::nvfp4), 0.5625 / 2}}) {
    const auto low = moved_by_layers(training);
    CHECK(low.at("all_gather") == test::about(share * half.at("all_gather")));
    CHECK(low.at("reduce_scatter") == test::about(half.at("reduce_scatter")));
  }
}

TEST_CASE("attention takes as long in low precision as in bf16, a product does not") {
  const topology::Cluster cluster = some_gpus("dgx-b200");
  const sim::Oracle oracle(cluster);
  pcg::Kernel attention{.kind = pcg::KernelKind::attention, .name = "test", .flops = base::Flops(1e12), .bytes = base::Bytes(1e8)};
  attention.tensor_cores = true;
  pcg::Kernel product = attention;
  product.kind = pcg::KernelKind::matmul;
  const auto time = [&](const pcg::Kernel& k, pcg::Precision p) { return kernel_cost(oracle, k, in_precision(p)).time; };
  for (const pcg::Precision low : {pcg::Precision::fp8, pcg::Precision::mxfp8, pcg::Precision::nvfp4}) {
    CHECK(time(attention, low) == time(attention, pcg::Precision::bf16));
    CHECK(time(product, low) < time(product, pcg::Precision::bf16));
  }
}

// 2 samples of 8 positions, 4 heads of 16: q, k and v of 1,024 numbers each. mxfp8 reads 2 B and writes rows and columns of 33/32 B.
TEST_CASE("attention in fp8 multiplies in it, after casts of its inputs and of its output's gradient") {
  const pcg::TensorShape x{{2, 8, 64}, pcg::Element::real};
  sim::NodeShape shape;
  shape.op = pcg::Attention{.heads = 4, .kv_heads = 4, .packed = false, .causal = true, .flash = true};
  shape.read = {x, x, x};
  shape.outputs = {x};
  shape.needed = {true, true, true};
  auto training = in_precision(pcg::Precision::mxfp8);
  const auto kernels = [&](bool backward) {
    return backward ? sim::input_gradient_kernels(shape, training, {}) : sim::forward_kernels(shape, training, {});
  };
  for (const bool backward : {false, true}) {
    training.fp8_attention = false;
    const auto before = kernels(backward);
    training.fp8_attention = true;
    const auto after = kernels(backward);
    double cast = 0;
    for (std::size_t i = 0; i + before.size() < after.size(); ++i) cast += after[i].bytes.value();
    CHECK(cast >= (backward ? 1 : 3) * 1024 * (2 + 2 * 33.0 / 32));
    CHECK(after.back().low_attention);
    CHECK_FALSE(before.back().low_attention);
  }
  const topology::Cluster cluster = some_gpus("dgx-b200");
  const sim::Oracle oracle(cluster);
  pcg::Kernel k{
      .kind = pcg::KernelKind::attention, .name = "test", .flops = base::Flops(4.0 * 128 * 4096 * 2048 * 128), .bytes = base::Bytes(1e8)};
  k.batch = 128, k.m = k.n = 4096, k.k = 128, k.tensor_cores = true;
  const auto in_bf16 = kernel_cost(oracle, k, training).time;
  k.low_attention = true;
  CHECK(kernel_cost(oracle, k, training).time < in_bf16);
}

// 8 positions: without a window half of 8 x 8 scores count, with one of two keys half of 2 x 2 and 6 x 2.
TEST_CASE("attention in fp8 has its window in the forward pass, and the whole triangle of keys in the backward pass") {
  const pcg::TensorShape x{{2, 8, 64}, pcg::Element::real};
  sim::NodeShape shape;
  shape.read = {x, x, x};
  shape.outputs = {x};
  shape.needed = {true, true, true};
  auto training = in_precision(pcg::Precision::mxfp8);
  const auto flops = [&](std::int64_t window, bool fp8_attention, bool backward) {
    shape.op = pcg::Attention{.heads = 4, .kv_heads = 4, .packed = false, .causal = true, .flash = true, .window = window};
    training.fp8_attention = fp8_attention;
    return (backward ? sim::input_gradient_kernels(shape, training, {}) : sim::forward_kernels(shape, training, {})).back().flops.value();
  };
  for (const bool fp8_attention : {false, true}) {
    CHECK(flops(2, fp8_attention, false) / flops(0, fp8_attention, false) == test::about(14.0 / 32));
    CHECK(flops(2, fp8_attention, true) / flops(0, fp8_attention, true) == test::about(fp8_attention ? 1 : 14.0 / 32));
  }
}

TEST_CASE("a plan whose attention multiplies in fp8 is quicker where sequences are long") {
  pcg::models::TransformerConfig t;
  t.layers = 2;
  t.hidden = 2048;
  t.heads = 16;
  t.vocab = 1024;
  t.sequence_length = 16384;
  t.causal = true;
  const pcg::Graph model = pcg::models::transformer(t, 1);
  const topology::Cluster cluster = some_gpus("dgx-b200");
  const sim::Oracle oracle(cluster);
  const base::Yaml section;
  auto training = in_precision(pcg::Precision::mxfp8);
  const auto seconds = [&](bool fp8_attention) {
    training.fp8_attention = fp8_attention;
    const pcg::Plan plan = search::megatron_plan({model, section, cluster, training, oracle}, {}).value();
    return sim::simulate_plan(plan, cluster).iteration_time.value();
  };
  CHECK(seconds(true) < 0.95 * seconds(false));
}

TEST_CASE("weights are cast once for all micro-batches, or in each pass that gathers them") {
  const topology::Cluster cluster = some_gpus("dgx-b200", 2);
  const auto casts = [&](int zero) {
    search::GridConfig c;
    c.zero = zero;
    auto training = in_precision(pcg::Precision::fp8);
    training.global_batch = 4;
    const sim::SimulationResult r = sim::simulate_plan(low_precision_plan(2, training, cluster, c), cluster, {.trace = true});
    return std::ranges::count_if(r.spans, [](const sim::Span& s) { return s.name.find("weight cast") != std::string::npos; });
  };
  // The trace has one of the two GPUs, which are alike: four weights of each layer, once; or forward and backward.
  CHECK(casts(1) == 2 * 4);
  CHECK(casts(3) == 2 * 4 * 2);
}

TEST_CASE("the first layers, the last ones and modules of prediction multiply in bf16 where the training says") {
  pcg::models::TransformerConfig t;
  t.layers = 5;
  t.hidden = 512;
  t.heads = 8;
  t.vocab = 1024;
  t.sequence_length = 256;
  t.mtp_layers = 1;
  const pcg::Graph model = pcg::models::transformer(t, 1);
  const topology::Cluster cluster = some_gpus("dgx-b200");
  const sim::Oracle oracle(cluster);
  const base::Yaml section;
  const auto low = [&](const pcg::Bf16Layers& kept) {
    auto training = in_precision(pcg::Precision::nvfp4);
    training.bf16_layers = kept;
    const pcg::Plan plan = search::megatron_plan({model, section, cluster, training, oracle}, {}).value();
    std::string blocks;  // one letter for each whose products are low
    for (const char* name : {"layer0", "layer1", "layer2", "layer3", "layer4", "mtp0"})
      for (const pcg::PcgNode& n : plan.pcg.nodes())
        if (n.name == std::string(name) + ".mlp.up" && pcg::multiplies_low(plan, n)) blocks += name[0] == 'm' ? 'm' : name[5];
    return blocks;
  };
  CHECK(low({}) == "01234m");
  CHECK(low({.first = 1}) == "1234m");
  CHECK(low({.last = 2}) == "012m");
  CHECK(low({.first = 2, .last = 1, .mtp = true}) == "23");
  CHECK(low({.first = 3, .last = 3}) == "m");
}
