// Bytes of a parameter: weight, gradient, optimizer state. Megatron-LM's distributed optimizer documents them for Adam, d replicas:
//                                 whole   sharded
//   fp16 parameters and gradients   20      4 + 16/d     2 weight, 2 gradient; fp32: weight, gradient and two moments 16
//   bf16 parameters, fp32 gradients 18      6 + 12/d     2 weight, 4 gradient; fp32: weight and two moments 12
// The fp32 copy of half-precision gradients, 4 of the 16, is there only while the optimizer runs.
// ZeRO (SC'20, section 3.1) counts 16 for mixed precision: the optimizer reads the half-precision gradient.
#include <doctest/doctest.h>

#include "profiles/device_profile.hpp"
#include "sim/kernels/optimizer_kernels.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"
#include "tests/closed_forms/planning.hpp"

namespace {

struct PerParameter {
  double weight, gradient, optimizer;
  double update = 0;
};

PerParameter per_parameter(const pcg::TrainingConfig& training, int replicas, int zero) {
  const auto cluster = test::dgx_a100(1, replicas);
  const pcg::Graph model = test::gpt(test::kShape);
  const pcg::Plan plan = test::megatron(model, training, {.zero = zero}, cluster);
  const profiles::FrameworkProfile& framework = profiles::framework_profile(training.framework);
  const sim::DeviceMemory m = sim::device_memory(plan, sim::dataflow_of(plan), cluster, framework).at(0);
  const auto parameters = static_cast<double>(model.parameters());
  return {m.weights.value() / parameters, m.gradients.value() / parameters, m.optimizer.value() / parameters,
          m.update.value() / parameters};
}

pcg::TrainingConfig training(pcg::Framework framework, pcg::Precision precision, bool fp32_gradients) {
  pcg::TrainingConfig t = test::megatron_training(test::kShape.batch);
  t.framework = framework;
  t.precision = precision;
  t.fp32_gradients = fp32_gradients;
  return t;
}

void check(const PerParameter& found, const PerParameter& right) {
  CHECK(found.weight == test::about(right.weight));
  CHECK(found.gradient == test::about(right.gradient));
  CHECK(found.optimizer == test::about(right.optimizer));
  CHECK(found.update == test::about(right.update));
}

const pcg::TrainingConfig kFp16 = training(pcg::Framework::megatron, pcg::Precision::fp16, false);
const pcg::TrainingConfig kBf16 = training(pcg::Framework::megatron, pcg::Precision::bf16, true);
const pcg::TrainingConfig kGeneric = training(pcg::Framework::generic, pcg::Precision::fp16, false);

}  // namespace

TEST_CASE("moments in bf16 are half of those in fp32") {
  // Adam in half precision: 2 + 2 bytes, 4 of the master copy and 2 x 4 of moments; of those 2 x 2 remain.
  pcg::Plan p;
  p.training.precision = pcg::Precision::bf16;
  p.training.optimizer = pcg::Optimizer::adam;
  p.memory.bf16_moments = true;
  CHECK(sim::model_state_bytes(p, profiles::framework_profile(pcg::Framework::generic)).optimizer == 4 + 4);
  p.training.optimizer = pcg::Optimizer::sgd;  // has none
  CHECK(sim::model_state_bytes(p, profiles::framework_profile(pcg::Framework::generic)).optimizer == 4);
}

TEST_CASE("Megatron keeps 20 bytes a parameter in fp16, 4 + 16/d with ZeRO 1") {
  check(per_parameter(kFp16, 1, 0), {2, 2, 12, 4});
  check(per_parameter(kFp16, 4, 0), {2, 2, 12, 4});
  check(per_parameter(kFp16, 4, 1), {2, 2, 12.0 / 4, 4.0 / 4});
}

TEST_CASE("Megatron keeps 18 bytes a parameter in bf16, 6 + 12/d with ZeRO 1") {
  check(per_parameter(kBf16, 1, 0), {2, 4, 12});
  check(per_parameter(kBf16, 4, 1), {2, 4, 12.0 / 4});
}

TEST_CASE("fp32 gradients in fp16 need no copy, and fp32 training has none") {
  check(per_parameter(training(pcg::Framework::megatron, pcg::Precision::fp16, true), 1, 0), {2, 4, 12});
  check(per_parameter(training(pcg::Framework::megatron, pcg::Precision::fp32, false), 1, 0), {4, 4, 8});
}

TEST_CASE("without a copy mixed precision keeps 16 bytes a parameter") { check(per_parameter(kGeneric, 4, 1), {2, 2, 12.0 / 4}); }

// The gradient is read; fp32 weight and moments are read and written (2 x 12), and so is the copy of the gradient (2 x 4); the
// half-precision weight is written.
// 2 weight; 4 + 2 gradient, in fp32 and in bf16; fp32: weight and two moments 12. Gradients that ZeRO shares out have no second copy.
TEST_CASE("DeepSpeed keeps gradients in bf16 beside those in fp32") {
  const pcg::TrainingConfig bf16 = training(pcg::Framework::deepspeed, pcg::Precision::bf16, true);
  check(per_parameter(bf16, 1, 0), {2, 6, 12});
  check(per_parameter(bf16, 4, 1), {2, 6, 12.0 / 4});
  check(per_parameter(bf16, 4, 2), {2, 4.0 / 4, 12.0 / 4});
  check(per_parameter(training(pcg::Framework::deepspeed, pcg::Precision::fp16, false), 1, 0), {2, 2, 12});
}

TEST_CASE("the update moves the gradient's copy, too") {
  const auto moved = [](const pcg::TrainingConfig& t) {
    pcg::Plan p;
    p.training = t;
    return sim::optimizer_bytes_per_parameter(p, profiles::framework_profile(t.framework), t.optimizer);
  };
  CHECK(moved(kGeneric) == 2 + 2 * 12 + 2);
  CHECK(moved(kFp16) == 2 + 2 * 4 + 2 * 12 + 2);
  CHECK(moved(kBf16) == 4 + 2 * 12 + 2);
}

// Shards of FSDP: 4 bytes of weight, 4 of gradient and 8 of moments, shared out among d; the gradients are there after the backward pass.
TEST_CASE("ZeRO-3 with shards in fp32 holds 16/d bytes a parameter, of which gradients are made in the backward pass") {
  const auto cluster = test::dgx_a100(1, 4);
  const pcg::Graph model = test::gpt(test::kShape);
  const auto parameters = static_cast<double>(model.parameters());
  profiles::FrameworkProfile framework, shards;
  shards.memory.fp32_shards = true;
  const auto memory = [&](const pcg::Plan& plan, const profiles::FrameworkProfile& f) {
    return sim::device_memory(plan, sim::dataflow_of(plan), cluster, f);
  };
  for (const bool fp32_gradients : {false, true}) {
    const pcg::Plan plan =
        test::megatron(model, training(pcg::Framework::generic, pcg::Precision::bf16, fp32_gradients), {.zero = 3}, cluster);
    REQUIRE(plan.micro_batches == 1);
    const auto devices = memory(plan, shards);
    const sim::DeviceMemory& m = devices.at(0);
    CHECK(m.weights.value() == test::about(4 * parameters / 4));
    CHECK(m.gradients.value() == test::about(4 * parameters / 4));
    CHECK(m.optimizer.value() == test::about(8 * parameters / 4));
    CHECK(m.lazy_gradients == m.gradients);
    const sim::MemoryUse without = sim::peak_memory(plan, memory(plan, framework), cluster),
                         with = sim::peak_memory(plan, devices, cluster);
    CHECK(with.peak < without.peak);
    CHECK(with.peak >= without.peak - m.gradients - (fp32_gradients ? base::Bytes(2 * parameters / 4) : base::Bytes(0)));
    CHECK(with.gradients >= base::Bytes(0));
    // Their place is kept from iteration to iteration in a pool of their own, as if they had been there throughout.
    const double more = fp32_gradients ? 2 * parameters / 4 : 0;
    CHECK((with.peak + with.held).value() == test::about(without.peak.value() - more));
    CHECK(without.held == base::Bytes(0));
    CHECK((with.weights + with.gradients + with.optimizer + with.activations + with.workspace).value() == test::about(with.peak.value()));
  }
  pcg::TrainingConfig four = training(pcg::Framework::generic, pcg::Precision::bf16, false);
  const pcg::Plan accumulating = test::megatron(model, four, {.micro_batch = 1, .zero = 3}, cluster);
  if (accumulating.micro_batches > 1) CHECK(memory(accumulating, shards).at(0).lazy_gradients == base::Bytes(0));
  const pcg::Plan full = test::megatron(model, training(pcg::Framework::generic, pcg::Precision::fp32, false), {.zero = 3}, cluster);
  CHECK(memory(full, shards).at(0).weights == memory(full, framework).at(0).weights);
  CHECK(memory(full, shards).at(0).lazy_gradients == base::Bytes(0));
}

TEST_CASE("what passes takes the place of gradients that are not made yet, and workspace when there is no more of it") {
  // 24 layers of 3 million parameters: their gradients, 4 bytes in 4 shards, are more than what passes when the backward pass begins, which
  // is when activations are most.
  const auto cluster = test::dgx_a100(1, 4);
  test::Shape deep;
  deep.layers = 24;
  profiles::FrameworkProfile shards;
  shards.memory.fp32_shards = true;
  const pcg::Plan plan =
      test::megatron(test::gpt(deep), training(pcg::Framework::generic, pcg::Precision::bf16, false), {.zero = 3}, cluster);
  const auto devices = sim::device_memory(plan, sim::dataflow_of(plan), cluster, shards);
  REQUIRE(devices.at(0).transient.at(0) < base::Bytes(0));
  const sim::MemoryUse use = sim::peak_memory(plan, devices, cluster);
  CHECK(use.gradients == devices.at(0).gradients + devices.at(0).transient.at(0));
  CHECK(use.workspace == profiles::device_profile("a100-sxm-80gb").reserved);
}
