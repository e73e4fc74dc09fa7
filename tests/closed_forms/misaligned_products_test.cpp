// Rows that are no whole multiple of 16 bytes. One layer of width h and inner width f and a head of v classes, of n tokens: n h (4 h + 2 f)
// and n h v multiply-adds, so an odd v is v / (v + 4 h + 2 f) of them.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

pcg::Plan plan_of(std::int64_t vocabulary, pcg::Precision precision, const topology::Cluster& cluster, int tensor = 1) {
  pcg::models::TransformerConfig t;
  t.layers = 1, t.hidden = 256, t.ffn = 1024, t.heads = 4, t.kv_heads = 4, t.vocab = vocabulary, t.sequence_length = 128;
  t.dropout = 0;
  pcg::TrainingConfig training = test::megatron_training(2);
  training.precision = precision;
  return test::megatron(pcg::models::transformer(t, 2), training, {.tensor = tensor}, cluster);
}

}  // namespace

TEST_CASE("an odd vocabulary is told with its share of the linear layers' work") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const auto found = [&](std::int64_t vocabulary, pcg::Precision precision) {
    const pcg::Plan plan = plan_of(vocabulary, precision, cluster);
    return sim::misaligned_products(plan, sim::dataflow_of(plan).flow);
  };
  const auto odd = found(5001, pcg::Precision::bf16);
  REQUIRE(odd);
  CHECK(odd->share == test::about(5001.0 / (5001 + 4 * 256 + 2 * 1024)));
  CHECK(odd->numbers == 5001);
  CHECK(odd->multiple == 8);
  CHECK_FALSE(found(5008, pcg::Precision::bf16));
  CHECK(found(5004, pcg::Precision::fp16));
  CHECK_FALSE(found(5004, pcg::Precision::tf32));  // 4 numbers of 4 bytes
  CHECK_FALSE(found(5001, pcg::Precision::fp32));  // no tensor cores
}

TEST_CASE("what counts is the row of a shard, and the run's notes say it") {
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  const auto noted = [&](std::int64_t vocabulary) {
    const auto notes = sim::simulate_plan(plan_of(vocabulary, pcg::Precision::bf16, cluster, 2), cluster).notes;
    const auto at = std::ranges::find(notes, "misaligned-products", &base::Fact::code);
    return at != notes.end() && at->values.at(1) == base::Fact::Value(std::int64_t{8});
  };
  CHECK_FALSE(noted(5008 * 2));
  CHECK(noted(5004 * 2));  // 8 numbers divide it, but not its half
}
