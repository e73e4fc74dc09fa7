// Bytes of a parameter: weight, gradient, optimizer state. Megatron-LM's distributed optimizer documents them for Adam, d replicas:
//                                 whole   sharded
//   fp16 parameters and gradients   20      4 + 16/d     2 weight, 2 gradient; fp32: weight, gradient and two moments 16
//   bf16 parameters, fp32 gradients 18      6 + 12/d     2 weight, 4 gradient; fp32: weight and two moments 12
// The fp32 copy of half-precision gradients, 4 of the 16, is there only while the optimizer runs.
// ZeRO (SC'20, section 3.1) counts 16 for mixed precision: the optimizer reads the half-precision gradient.
#include <doctest/doctest.h>

#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "sim/pricing/optimizer_kernel.hpp"
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
  CHECK(found.weight == doctest::Approx(right.weight));
  CHECK(found.gradient == doctest::Approx(right.gradient));
  CHECK(found.optimizer == doctest::Approx(right.optimizer));
  CHECK(found.update == doctest::Approx(right.update));
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
