// Kernels that run otherwise than their work alone would say. Products of E experts one after another: E times one product, whose size a
// batched one does not have. Products of gradients in fp8: what adding up in fp32 beside the tensor cores takes longer. Adam in passes over
// fp32: 12 + 8 + 12 + 8 + 8 + 8 + 16 = 72 bytes a parameter against 28 of one kernel, and 4 more of memory while it runs.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "profiles/device_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/kernel_cost.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/kernels/optimizer_kernels.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kTurnExperts = 16, kTurnTokens = 512, kTurnWidth = 2048, kTurnInner = 768;

pcg::Kernel product_of(std::int64_t batch) {
  const double flops = 2.0 * static_cast<double>(batch * kTurnTokens * kTurnWidth * kTurnInner);
  const auto numbers = static_cast<double>(batch * (kTurnTokens * kTurnWidth + kTurnWidth * kTurnInner + kTurnTokens * kTurnInner));
  pcg::Kernel k{.kind = pcg::KernelKind::matmul, .name = "test", .flops = base::Flops(flops), .bytes = base::Bytes(2 * numbers)};
  k.batch = batch, k.m = kTurnTokens, k.n = kTurnInner, k.k = kTurnWidth, k.tensor_cores = true;
  return k;
}

sim::NodeShape of_experts() {
  sim::NodeShape shape;
  shape.op = pcg::ExpertLinear{.out = kTurnInner};
  shape.read = {{{kTurnExperts, kTurnTokens, kTurnWidth}, pcg::Element::real},
                {{kTurnExperts, kTurnInner, kTurnWidth}, pcg::Element::real}};
  shape.outputs = {{{kTurnExperts, kTurnTokens, kTurnInner}, pcg::Element::real}};
  shape.needed = {true, false};
  shape.trained = true;
  return shape;
}

}  // namespace

TEST_CASE("experts' products one after another take as long as one of them, so many times") {
  const profiles::DeviceProfile& device = profiles::device_profile("h200-sxm-141gb");
  const auto seconds = [&](const pcg::Kernel& k) {
    return sim::kernel_cost(device, {}, k, {.precision = pcg::Precision::bf16}).time.value();
  };
  pcg::Kernel serial_launches = product_of(kTurnExperts);
  serial_launches.serial_launches = kTurnExperts;
  CHECK(seconds(serial_launches) == test::about(static_cast<double>(kTurnExperts) * seconds(product_of(1))));
  CHECK(seconds(serial_launches) > 1.3 * seconds(product_of(kTurnExperts)));  // half a wave of tiles each, against eight waves
  // What is added to a buffer is added once.
  pcg::Kernel adding = serial_launches;
  adding.added = base::Bytes(1e9);
  CHECK(seconds(adding) - seconds(serial_launches) == test::about(1e9 / device.memory_bandwidth.value()));
}

TEST_CASE("a framework that gives each expert a kernel runs the products of all three passes in turn") {
  pcg::TrainingConfig training;
  training.precision = pcg::Precision::bf16;
  profiles::FrameworkProfile framework;
  for (const bool apart : {false, true}) {
    framework.unfused_experts = apart;
    const sim::NodeShape shape = of_experts();
    int products = 0;
    for (const auto& kernels : {sim::forward_kernels(shape, training, framework), sim::input_gradient_kernels(shape, training, framework),
                                sim::weight_gradient_kernels(shape, training, framework)})
      for (const pcg::Kernel& k : kernels) {
        if (k.kind != pcg::KernelKind::matmul) continue;
        ++products;
        CHECK(k.serial_launches == (apart ? kTurnExperts : 1));
        CHECK(k.batch == kTurnExperts);
      }
    CHECK(products == 3);
  }
}

TEST_CASE("products of gradients in fp8 take longer by what their device says, and only they") {
  profiles::DeviceProfile device = profiles::device_profile("h100-sxm-80gb");
  device.split_accumulation = 1.25;
  pcg::Kernel k = product_of(1);
  const auto seconds = [&](bool split, pcg::Precision p) {
    k.split_accumulation = split;
    return sim::kernel_cost(device, {}, k, {.precision = p}).time.value();
  };
  CHECK(seconds(true, pcg::Precision::fp8) == test::about(1.25 * seconds(false, pcg::Precision::fp8)));
  CHECK(seconds(true, pcg::Precision::bf16) == seconds(false, pcg::Precision::bf16));

  pcg::TrainingConfig training;
  training.precision = pcg::Precision::fp8;
  sim::NodeShape shape = of_experts();
  shape.casts.low = true;
  const auto split = [&](const std::vector<pcg::Kernel>& kernels) {
    return std::ranges::any_of(kernels, &pcg::Kernel::split_accumulation);
  };
  for (const auto recipe : {pcg::Fp8Scaling::delayed, pcg::Fp8Scaling::current, pcg::Fp8Scaling::blockwise}) {
    training.fp8_recipe = recipe;
    CHECK(split(sim::forward_kernels(shape, training, {})) == (recipe == pcg::Fp8Scaling::blockwise));
    CHECK(split(sim::input_gradient_kernels(shape, training, {})));
    CHECK(split(sim::weight_gradient_kernels(shape, training, {})));
  }
}

TEST_CASE("an Adam in passes moves 72 bytes a parameter of fp32 and holds 4 more") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  pcg::models::TransformerConfig t;
  t.layers = 1, t.hidden = 256, t.ffn = 768, t.heads = 4, t.kv_heads = 4, t.vocab = 512, t.sequence_length = 256;
  pcg::TrainingConfig training = test::megatron_training(2);
  training.precision = pcg::Precision::fp32;
  const pcg::Plan plan = test::megatron(pcg::models::transformer(t, 2), training, {.data = 1}, cluster);
  profiles::FrameworkProfile passes;
  CHECK(sim::optimizer_bytes_per_parameter(plan, passes, pcg::Optimizer::adam) == 28);
  const auto states = [&](const pcg::Plan& p) { return sim::model_states(p, sim::dataflow_of(p), passes, 0).at(0); };
  const double parameters = static_cast<double>(pcg::models::transformer(t, 2).parameters());
  CHECK(states(plan).update.value() == 0);
  passes.memory.adam_temporaries = base::Bytes(4);
  CHECK(states(plan).update.value() == test::about(4 * parameters));
  CHECK(states(plan).optimizer.value() == test::about(8 * parameters));
  // What passes is none of the states that a fused update moves.
  CHECK(sim::optimizer_bytes_per_parameter(plan, passes, pcg::Optimizer::adam) == 28);
  passes.adam_bytes = base::Bytes(72);
  CHECK(sim::optimizer_bytes_per_parameter(plan, passes, pcg::Optimizer::adam) == 72);
  CHECK(sim::optimizer_bytes_per_parameter(plan, passes, pcg::Optimizer::momentum) == 20);
  // Hosts that update read and write their own memory.
  pcg::Plan offloaded = plan;
  offloaded.memory.offload.optimizer = true;
  CHECK(sim::optimizer_bytes_per_parameter(offloaded, passes, pcg::Optimizer::adam) ==
        sim::optimizer_bytes_per_parameter(offloaded, {}, pcg::Optimizer::adam));
  CHECK(states(offloaded).update.value() == 0);
  training.optimizer = pcg::Optimizer::sgd;
  CHECK(states(test::megatron(pcg::models::transformer(t, 2), training, {.data = 1}, cluster)).update.value() == 0);
}
