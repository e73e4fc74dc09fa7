// Inputs of activation functions in a byte per number (`activation_inputs: fp8`): what the casts cost. What they save is in
// activations_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "planning.hpp"
#include "profiles/device_profile.hpp"
#include "sim/oracle.hpp"
#include "tests/about.hpp"

namespace {

// Two layers on one device, whose activation function keeps its input if it is GELU; ReLU needs but what it makes.
sim::SimulationResult two_layers(pcg::Unary::Kind activation, bool in_fp8) {
  pcg::models::TransformerConfig t;
  t.layers = 2;
  t.hidden = test::kShape.hidden;
  t.heads = test::kShape.heads;
  t.vocab = test::kShape.vocabulary;
  t.sequence_length = test::kShape.sequence;
  t.activation = activation;
  search::GridConfig c;
  c.memory.fp8_activation_inputs = in_fp8;
  const auto cluster = test::dgx_a100(1, 1);
  const pcg::Graph model = pcg::models::transformer(t, test::kShape.batch);
  return sim::Oracle(cluster).plan(test::megatron(model, test::megatron_training(test::kShape.batch), c, cluster));
}

bool says_nothing_changes(const sim::SimulationResult& r) {
  return std::ranges::count(r.notes, base::Fact("activation-inputs-unused")) == 1;
}

}  // namespace

TEST_CASE("an input that is kept in fp8 is cast there and back") {
  // GELU reads 4 s b h numbers of 2 bytes: a cast reads or writes them, and writes or reads a byte of each. Two casts in two layers.
  pcg::Kernel cast;
  cast.kind = pcg::KernelKind::elementwise;
  const auto numbers = static_cast<double>(4 * test::kShape.sequence * test::kShape.batch * test::kShape.hidden);
  cast.flops = base::Flops(numbers);
  cast.bytes = base::Bytes(3 * numbers);
  const double seconds = profiles::kernel_time(profiles::device_profile("a100-sxm-80gb"), cast, pcg::Precision::fp16).time.value();
  const sim::SimulationResult plain = two_layers(pcg::Unary::Kind::gelu, false), fp8 = two_layers(pcg::Unary::Kind::gelu, true);
  CHECK(fp8.breakdown.compute.value() - plain.breakdown.compute.value() == test::about(2 * 2 * seconds));
  CHECK_FALSE(says_nothing_changes(fp8));
}

TEST_CASE("activation functions that keep what they make have nothing to cast, and it is said") {
  const sim::SimulationResult plain = two_layers(pcg::Unary::Kind::relu, false), fp8 = two_layers(pcg::Unary::Kind::relu, true);
  CHECK(fp8.breakdown.compute.value() == plain.breakdown.compute.value());
  CHECK(fp8.memory.peak.value() == plain.memory.peak.value());
  CHECK(says_nothing_changes(fp8));
  CHECK_FALSE(says_nothing_changes(plain));
}
