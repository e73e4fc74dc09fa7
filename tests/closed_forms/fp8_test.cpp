// Training in fp8: linear layers alone are in it. What they read is cast and kept in one byte; attention and the head stay in bf16.
#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/memory.hpp"
#include "sim/pricing/node_kernels.hpp"

namespace {

constexpr double kInHalf = 512, kSampleTokens = 256;  // width h, and tokens of a sample, of the model below

// Two layers and more of: norm, qkv, attention, projection, addition; norm, up, gelu, down, addition.
pcg::Plan low_precision_plan(int layers, pcg::Precision precision, const topology::Cluster& cluster) {
  pcg::models::TransformerConfig t;
  t.layers = layers;
  t.hidden = 512;
  t.heads = 8;
  t.vocab = 1024;
  t.sequence_length = 256;
  const pcg::Graph model = pcg::models::transformer(t, 1);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  pcg::TrainingConfig training;
  training.precision = precision;
  return search::megatron_plan({model, section, cluster, training, oracle}, {}).value();
}

topology::Cluster one_h100() {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml("{preset: dgx-h100, node.gpus.count: 1}", "test"), "cluster"),
                                "cluster");
}

// Elements that casts go through in a pass, 4 bytes each, of one more layer.
template <class Kernels>
double cast_elements(const Kernels& kernels_of) {
  const topology::Cluster cluster = one_h100();
  const auto of = [&](int layers) {
    const pcg::Plan plan = low_precision_plan(layers, pcg::Precision::fp8, cluster);
    const sim::Dataflow data = sim::dataflow_of(plan);
    double bytes = 0;
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      if (!plan.pcg.nodes()[n].computes()) continue;
      for (const pcg::Kernel& k : kernels_of(sim::node_shape(plan, data.flow, n), plan.training))
        if (k.name.starts_with("fp8 cast")) bytes += k.bytes.value();
    }
    return bytes / 4;
  };
  return of(3) - of(2);
}

}  // namespace

TEST_CASE("a layer in fp8 keeps 5 h bytes a token less than in bf16") {
  // In one byte: what qkv reads (h), what up reads (h), what down reads (4 h): 6 h less. What the projection reads is kept by attention
  // in bf16 as well: h more. Inputs of norms, of attention and of gelu are as before.
  const topology::Cluster cluster = one_h100();
  const auto kept = [&](pcg::Precision p, int layers) {
    return sim::memory_of(low_precision_plan(layers, p, cluster), cluster).activations.value();
  };
  const auto of_a_layer = [&](pcg::Precision p) { return kept(p, 3) - kept(p, 2); };
  CHECK(of_a_layer(pcg::Precision::bf16) - of_a_layer(pcg::Precision::fp8) == doctest::Approx(5 * kInHalf * kSampleTokens));
}

TEST_CASE("casts that no other kernel does") {
  // Forward: what attention made (h); norms and gelu write fp8 themselves. Backward: the gradients of qkv (3 h), of the projection and of
  // down (h each), which come from attention and from additions; gelu's gradient kernel casts that of up.
  const auto& framework = profiles::framework_profile(pcg::Framework::generic);
  CHECK(cast_elements([&](const sim::NodeShape& s, const pcg::TrainingConfig& t) { return sim::forward_kernels(s, t, framework); }) ==
        doctest::Approx(kInHalf * kSampleTokens));
  CHECK(cast_elements([&](const sim::NodeShape& s, const pcg::TrainingConfig& t) {
          return sim::input_gradient_kernels(s, t, framework);
        }) == doctest::Approx(5 * kInHalf * kSampleTokens));
}

TEST_CASE("attention takes as long in fp8 training as in bf16, a product does not") {
  const topology::Cluster cluster = one_h100();
  const sim::Oracle oracle(cluster);
  pcg::Kernel k{.kind = pcg::KernelKind::attention, .name = "test", .flops = base::Flops(1e12), .bytes = base::Bytes(1e8)};
  k.tensor_cores = true;
  pcg::TrainingConfig low, half;
  low.precision = pcg::Precision::fp8;
  half.precision = pcg::Precision::bf16;
  CHECK(oracle.kernel(k, low, base::DeviceId(0)).time == oracle.kernel(k, half, base::DeviceId(0)).time);
  k.kind = pcg::KernelKind::matmul;
  CHECK(oracle.kernel(k, low, base::DeviceId(0)).time < oracle.kernel(k, half, base::DeviceId(0)).time);
}
