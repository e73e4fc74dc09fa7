// What a Mamba layer of a hybrid takes of each device. Hidden h, inner width d = H p, projection w = 2 d + 2 G N + H, T tokens in half
// precision.
//   Tensor parallelism t: partial sums of the output, 2 T h bytes, are added up forward, those of the input's gradient backward.
//   Context parallelism c: positions change places with heads and back, (w + d) numbers a token, forward and backward.
//   Kept for the backward pass, in numbers of 2 bytes a token: the norm's input and the projection's, 2 h; w; before the gate, before the
//   norm and before the projection back, 3 d.
//   Position by position, several samples: what is read and written is brought into the order of samples, 2 (w + d) numbers a token.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kMambaHidden = 256, kMambaInner = 32 * 16, kMambaProjection = 2 * kMambaInner + 2 * 4 * 64 + 32;
constexpr double kMambaTokens = 4 * 128;

pcg::Graph mamba(std::int64_t layers, std::int64_t samples = 4) {
  pcg::models::TransformerConfig c;
  c.layers = layers;
  c.hidden = kMambaHidden;
  c.heads = 4;
  c.vocab = 512;
  c.sequence_length = 128;
  c.positions = -1;
  c.biases = false;
  c.pattern = std::string(static_cast<std::size_t>(layers), 'M');
  c.mamba_heads = 32;
  c.mamba_head_dim = 16;
  c.mamba_groups = 4;
  c.mamba_state = 64;
  return pcg::models::transformer(c, samples);
}

// What two more layers add, halved.
double bytes_of_mamba(const search::GridConfig& grid, const std::string& kind) {
  const auto cluster = test::dgx_a100(1, grid.tensor * grid.context);
  const auto traffic = [&](std::int64_t layers) {
    const pcg::Plan plan = test::megatron(mamba(layers), test::megatron_training(4), grid, cluster);
    return sim::simulate_plan(plan, cluster, {}).bytes.by_collective[kind].value();
  };
  return (traffic(4) - traffic(2)) / 2;
}

double bytes_of_kernels(const pcg::Plan& plan, const profiles::FrameworkProfile& framework) {
  const sim::Dataflow data = sim::dataflow_of(plan);
  double bytes = 0;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    const sim::NodeShape shape = sim::node_shape(plan, data.flow, n);
    for (const pcg::Kernel& k : sim::forward_kernels(shape, plan.training, framework)) bytes += k.bytes.value();
    for (const pcg::Kernel& k : sim::input_gradient_kernels(shape, plan.training, framework)) bytes += k.bytes.value();
  }
  return bytes;
}

}  // namespace

TEST_CASE("tensor parallelism adds up what a Mamba layer gives, and the gradient of what it reads") {
  const double sums = 2 * kMambaTokens * kMambaHidden;
  for (const int t : {2, 4})  // each of t devices sends 2 (t - 1) / t of the tensor, forward and backward
    CHECK(bytes_of_mamba({.tensor = t}, "all_reduce") == test::about(2 * 2 * (t - 1) * sums));
}

TEST_CASE("ranks of context exchange positions for heads around the scan") {
  for (const int c : {2, 4})
    CHECK(bytes_of_mamba({.context = c}, "all_to_all") ==
          test::about(2 * 2 * kMambaTokens * (kMambaProjection + kMambaInner) * (c - 1) / c));
  CHECK(bytes_of_mamba({.context = 2}, "all_gather") == 0);
}

TEST_CASE("groups of heads that do not divide are refused") {
  const auto why = [](const search::GridConfig& grid) {
    const auto cluster = test::dgx_a100(1, grid.tensor * grid.context);
    const base::Yaml section;
    const sim::Oracle oracle(cluster);
    const pcg::Graph model = mamba(2, 8);
    const auto plan = search::megatron_plan({model, section, cluster, test::megatron_training(8), oracle}, grid);
    return plan ? "" : plan.refusal().why;
  };
  CHECK(why({.tensor = 8}) == "layer0.mamba.core: 4 groups of state space heads do not divide by tensor 8");
  CHECK(why({.tensor = 4, .context = 2}) == "layer0.mamba.core: 4 groups of state space heads do not divide by 8, tensor 4 x context 2");
  CHECK(why({.tensor = 2, .context = 2}).empty());
}

TEST_CASE("a Mamba layer keeps 2 h + w + 3 d numbers a token") {
  const auto kept = [](std::int64_t layers, int tensor) {
    const auto cluster = test::dgx_a100(1, tensor);
    return test::kept_bytes(test::megatron(mamba(layers), test::megatron_training(4), {.tensor = tensor}, cluster), cluster);
  };
  CHECK((kept(4, 1) - kept(2, 1)) / 2 == test::about(2 * kMambaTokens * (2 * kMambaHidden + kMambaProjection + 3 * kMambaInner)));
  CHECK((kept(4, 2) - kept(2, 2)) / 2 == test::about(2 * kMambaTokens * (2 * kMambaHidden + (kMambaProjection + 3 * kMambaInner) / 2.0)));
}

TEST_CASE("activations that lie position by position are put in order where a device has several samples") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  profiles::FrameworkProfile by_sample, by_position;
  by_position.sequence_first = true;
  for (const std::int64_t samples : {1, 4}) {
    const pcg::Plan plan = test::megatron(mamba(1, samples), test::megatron_training(samples), {.data = 1}, cluster);
    const double copies = bytes_of_kernels(plan, by_position) - bytes_of_kernels(plan, by_sample);
    CHECK(copies == test::about(samples == 1 ? 0 : 2 * 2 * 2 * kMambaTokens * (kMambaProjection + kMambaInner)));
  }
}
