// Bytes that tensor, sequence, context and pipeline parallelism move, per layer and micro-batch.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "tests/about.hpp"

namespace {

const double activation =
    static_cast<double>(test::kShape.sequence * test::kShape.batch * test::kShape.hidden) * 2;  // s b h in half precision

// Bytes by collective that two more layers add, halved.
std::map<std::string, double> layer_traffic(const search::GridConfig& config, int gpus) {
  const auto cluster = test::dgx_a100(1, gpus);
  test::Shape two, four;
  four.layers = 4;
  sim::SimulationConfig ring;  // closed forms are of the ring: other algorithms move other bytes
  ring.collectives.algorithm = sim::Algorithm::ring;
  const auto traffic = [&](const test::Shape& s) {
    return sim::simulate_plan(test::megatron(s, config, cluster), cluster, ring).bytes.by_collective;
  };
  auto a = traffic(four);
  for (auto& [kind, bytes] : traffic(two)) a[kind] -= bytes;
  std::map<std::string, double> out;
  for (auto& [kind, bytes] : a) out[kind] = bytes.value() / 2;
  return out;
}

}  // namespace

TEST_CASE("tensor parallelism: two all-reduces of s b h forward, two backward") {
  // Megatron-LM, arXiv 1909.08053, section 3; a ring moves 2 (t-1)/t of it per device
  for (int t : {2, 4, 8}) {
    search::GridConfig c;
    c.tensor = t;
    CHECK(layer_traffic(c, t)["all_reduce"] == test::about(4 * activation * 2 * (t - 1), 0.001));
  }
}

TEST_CASE("full recomputation repeats the forward all-reduces") {
  search::GridConfig c;
  c.tensor = 4;
  c.recompute = pcg::Recompute::full;
  CHECK(layer_traffic(c, 4)["all_reduce"] == test::about(6 * activation * 2 * 3, 0.001));
}

TEST_CASE("sequence parallelism: the same volume in halves, and each gathered input once more") {
  // Korthikanti et al., section 4.2.2: an all-gather and a reduce-scatter for each all-reduce; two inputs are gathered again backward
  search::GridConfig c;
  c.tensor = 4;
  c.sequence_parallel = true;
  auto traffic = layer_traffic(c, 4);
  const double once = activation * 3;  // (t-1)/t of S on each of t devices
  CHECK(traffic["all_gather"] == test::about((4 + 2) * once, 0.001));
  CHECK(traffic["reduce_scatter"] == test::about(4 * once, 0.001));
  // norms see a part of the sequence each, so the gradients of two gains and two biases are partial; 2 bytes a parameter
  CHECK(traffic["all_reduce"] == test::about(4 * 512 * 2 * 2 * 3, 0.001));
}

TEST_CASE("data parallelism: 2 (d-1)/d of the gradients of a layer, 12 h^2 + 13 h parameters") {
  search::GridConfig c;
  const double parameters = 12.0 * 512 * 512 + 13 * 512;
  CHECK(layer_traffic(c, 4)["all_reduce"] == test::about(2 * parameters * 2 * 3));
  c.zero = 1;  // reduce-scatter and all-gather: the same volume
  auto sharded = layer_traffic(c, 4);
  CHECK(sharded["reduce_scatter"] == test::about(2 * parameters * 3));
  CHECK(sharded["all_gather"] == test::about(2 * parameters * 3));
}
