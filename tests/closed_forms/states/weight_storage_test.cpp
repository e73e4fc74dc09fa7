// What low precision keeps and gathers of the weights of products (Transformer Engine, docs, features/low_precision_training). A layer of
// width h has 12 h^2 of them, and 13 h of norms and biases, which stay at 2 bytes. Bytes of one, x those of its copy:
//                     kept              gathered
//   bf16              2, x beside it    2          x: fp8 1, on Hopper 2; blockwise 2 (1 + 4/128^2); mxfp8, nvfp4 as below
//   fp8               1                 1
//   fp8_transposed    1 + 1             1
//   mxfp8             2 (1 + 1/32)      2          rows and columns have blocks of 32 of their own; bf16 is gathered and cast
//   nvfp4             2 (1/2 + 1/16)    1/2        blocks of 16
// Copies of weights that are gathered for each pass (ZeRO-3) live as long as these.
#include <doctest/doctest.h>

#include <string>

#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"
#include "tests/closed_forms/planning.hpp"

namespace {

constexpr double kStoredWidth = 512, kMatrices = 12 * kStoredWidth * kStoredWidth, kOthers = 13 * kStoredWidth;

topology::Cluster four_gpus(const char* preset) {
  return topology::load_cluster(
      topology::expand_cluster(base::parse_yaml("{preset: " + std::string(preset) + ", node.gpus.count: 4}", "test"), "cluster"),
      "cluster");
}

struct Stored {
  pcg::Precision precision = pcg::Precision::fp8;
  pcg::WeightStorage weights = pcg::WeightStorage::bf16;
  pcg::Fp8Scaling recipe = pcg::Fp8Scaling::delayed;
  const char* preset = "dgx-b200";
};

pcg::Plan stored_plan(const Stored& how, int zero, std::int64_t layers, const topology::Cluster& cluster) {
  pcg::TrainingConfig training = test::megatron_training(4);
  training.precision = how.precision;
  training.fp8_recipe = how.recipe;
  search::GridConfig c;
  c.zero = zero;
  c.memory.weights = how.weights;
  return test::megatron(test::gpt({.layers = layers}), training, c, cluster);
}

// Of one layer: what two more add, halved.
template <class Quantity>
double of_layer(const Stored& how, int zero, Quantity quantity) {
  const topology::Cluster cluster = four_gpus(how.preset);
  const auto of = [&](std::int64_t layers) { return quantity(stored_plan(how, zero, layers, cluster), cluster); };
  return (of(4) - of(2)) / 2;
}

double kept(const Stored& how, int zero) {
  return of_layer(how, zero,
                  [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::memory_of(plan, cluster).weights.value(); });
}

double gathered(const Stored& how, int zero) {
  return of_layer(how, zero, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
    sim::SimulationConfig ring;
    ring.collectives.algorithm = sim::Algorithm::ring;
    return sim::simulate_plan(plan, cluster, ring).bytes.by_collective.at("all_gather").value();
  });
}

void check_storage(const Stored& how, double bytes_kept, double bytes_copied, double bytes_gathered) {
  const double others = 2 * kOthers;
  CHECK(kept(how, 1) == test::about(kMatrices * (bytes_kept + bytes_copied) + others));
  CHECK(kept(how, 3) == test::about((kMatrices * bytes_kept + others) / 4));
  // A ring of four gathers three times what is whole: after the update, or before each pass.
  CHECK(gathered(how, 1) == test::about(3 * (kMatrices * bytes_gathered + others)));
  CHECK(gathered(how, 3) == test::about(2 * 3 * (kMatrices * bytes_gathered + others)));
}

}  // namespace

TEST_CASE("weights of products are kept and gathered in the bytes of their format, the others in bf16") {
  using enum pcg::Precision;
  using Storage = pcg::WeightStorage;
  check_storage({bf16, Storage::bf16}, 2, 0, 2);
  check_storage({fp8, Storage::bf16}, 2, 1, 2);
  check_storage({fp8, Storage::bf16, pcg::Fp8Scaling::current, "dgx-h100"}, 2, 2, 2);
  check_storage({fp8, Storage::bf16, pcg::Fp8Scaling::blockwise, "dgx-h100"}, 2, 2 + 8.0 / (128 * 128), 2);
  check_storage({mxfp8, Storage::bf16}, 2, 2.0625, 2);
  check_storage({nvfp4, Storage::bf16}, 2, 1.125, 2);
  check_storage({fp8, Storage::fp8}, 1, 0, 1);
  check_storage({fp8, Storage::fp8_transposed, pcg::Fp8Scaling::delayed, "dgx-h100"}, 2, 0, 1);
  check_storage({mxfp8, Storage::mxfp8}, 2.0625, 0, 2);
  check_storage({nvfp4, Storage::nvfp4}, 1.125, 0, 0.5);
}

TEST_CASE("embedding and head are no products inside layers") {
  const topology::Cluster cluster = four_gpus("dgx-b200");
  const auto weights = [&](const Stored& s) { return sim::memory_of(stored_plan(s, 1, 2, cluster), cluster).weights.value(); };
  CHECK(weights({pcg::Precision::bf16}) - weights({pcg::Precision::fp8, pcg::WeightStorage::fp8}) == test::about(2 * kMatrices));
}

TEST_CASE("weights are kept in the format that products multiply") {
  const topology::Cluster cluster = four_gpus("dgx-b200");
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  const pcg::Graph model = test::gpt(test::kShape);
  search::GridConfig c;
  c.memory.weights = pcg::WeightStorage::mxfp8;
  CHECK(search::grid_plan({model, section, cluster, test::megatron_training(4), oracle}, c, "x").refusal().why ==
        "weights are kept in mxfp8 where products are in mxfp8, and the precision is fp16");
}
