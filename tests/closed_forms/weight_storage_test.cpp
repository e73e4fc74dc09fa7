// What fp8 training keeps and gathers of the weights of products (Transformer Engine, docs, features/low_precision_training). A layer of
// width h has 12 h^2 of them, and 13 h of norms and biases, which stay at 2 bytes:
//                     kept              gathered
//   bf16              2                 2
//   fp8               1                 1
//   fp8_transposed    1 + 1             1
//   mxfp8             2 (1 + 1/32)      2      rows and columns have blocks of 32 of their own; bf16 is gathered and cast
//   nvfp4             2 (1/2 + 1/16)    1/2    blocks of 16
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/weight_storage.hpp"

namespace {

constexpr double kStoredWidth = 512, kMatrices = 12 * kStoredWidth * kStoredWidth, kOthers = 13 * kStoredWidth;

topology::Cluster hopper_node() {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml("{preset: dgx-h100, node.gpus.count: 4}", "test"), "cluster"),
                                "cluster");
}

pcg::Plan stored_plan(pcg::WeightStorage weights, int zero, std::int64_t layers, const topology::Cluster& cluster) {
  pcg::TrainingConfig training = test::megatron_training(4);
  training.precision = pcg::Precision::fp8;
  search::GridConfig c;
  c.zero = zero;
  c.memory.weights = weights;
  return test::megatron(test::gpt({.layers = layers}), training, c, cluster);
}

// Of one layer: what two more add, halved.
template <class Quantity>
double of_layer(pcg::WeightStorage weights, int zero, Quantity quantity) {
  const topology::Cluster cluster = hopper_node();
  const auto of = [&](std::int64_t layers) { return quantity(stored_plan(weights, zero, layers, cluster), cluster); };
  return (of(4) - of(2)) / 2;
}

double kept(pcg::WeightStorage weights, int zero) {
  return of_layer(weights, zero,
                  [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::memory_of(plan, cluster).weights.value(); });
}

double gathered(pcg::WeightStorage weights, int zero) {
  return of_layer(weights, zero, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
    sim::SimulationConfig ring;
    ring.collectives.algorithm = sim::Algorithm::ring;
    return sim::simulate_plan(plan, cluster, ring).bytes.by_collective.at("all_gather").value();
  });
}

void check_storage(pcg::WeightStorage weights, double bytes_kept, double bytes_gathered) {
  const double others = 2 * kOthers;
  CHECK(kept(weights, 1) == doctest::Approx(kMatrices * bytes_kept + others));
  CHECK(kept(weights, 3) == doctest::Approx((kMatrices * bytes_kept + others) / 4));
  // A ring of four gathers three times what is whole: after the update, or before each pass.
  CHECK(gathered(weights, 1) == doctest::Approx(3 * (kMatrices * bytes_gathered + others)));
  CHECK(gathered(weights, 3) == doctest::Approx(2 * 3 * (kMatrices * bytes_gathered + others)));
}

}  // namespace

TEST_CASE("weights of products are kept and gathered in the bytes of their recipe, the others in bf16") {
  check_storage(pcg::WeightStorage::bf16, 2, 2);
  check_storage(pcg::WeightStorage::fp8, 1, 1);
  check_storage(pcg::WeightStorage::fp8_transposed, 2, 1);
  check_storage(pcg::WeightStorage::mxfp8, 2.0625, 2);
  check_storage(pcg::WeightStorage::nvfp4, 1.125, 0.5);
}

TEST_CASE("embedding and head are no products inside layers") {
  const topology::Cluster cluster = hopper_node();
  const auto weights = [&](pcg::WeightStorage s) { return sim::memory_of(stored_plan(s, 1, 2, cluster), cluster).weights.value(); };
  CHECK(weights(pcg::WeightStorage::bf16) - weights(pcg::WeightStorage::fp8) == doctest::Approx(2 * kMatrices));
}

TEST_CASE("storage in fp8 needs products in fp8") {
  const topology::Cluster cluster = hopper_node();
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  const pcg::Graph model = test::gpt(test::kShape);
  search::GridConfig c;
  c.memory.weights = pcg::WeightStorage::mxfp8;
  CHECK(search::grid_plan({model, section, cluster, test::megatron_training(4), oracle}, c, "x").refusal().why ==
        "weights are kept in mxfp8 where products are in fp8, and the precision is fp16");
}
