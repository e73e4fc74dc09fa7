// One weight that two stages read: their gradients are added, however each of them cuts it.
#include <doctest/doctest.h>

#include "plan_builder.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kTiedRows = 64, kTiedWidth = 512;
constexpr double kTiedBytes = 4.0 * kTiedWidth * kTiedWidth;

// Two layers of one weight, or of a weight each.
pcg::Graph two_layers_of_a_weight(bool tied) {
  pcg::GraphBuilder b("two layers");
  const pcg::GraphTensorRef x = b.input("x", pcg::real({kTiedRows, kTiedWidth})), y = b.input("y", pcg::real({kTiedRows, kTiedWidth}));
  const pcg::GraphTensorRef w = b.weight("w", pcg::real({kTiedWidth, kTiedWidth}));
  b.begin_block("first");
  const pcg::GraphTensorRef first = b.add("first", pcg::Linear{.out = kTiedWidth}, {x}, {w});
  b.begin_block("second");
  const pcg::GraphTensorRef v = tied ? w : b.weight("v", pcg::real({kTiedWidth, kTiedWidth}));
  b.add("loss", pcg::SquaredError{}, {b.add("second", pcg::Linear{.out = kTiedWidth}, {first}, {v}), y});
  return std::move(b).build();
}

// Each layer on two devices of its own.
double bytes_of_two_stages(bool tied, const test::Cuts& cuts) {
  pcg::Plan plan = test::plan_of(two_layers_of_a_weight(tied), cuts, 4);
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    plan.stage[n] = node.block >= 2 ? 1 : 0;
    if (node.computes()) plan.mapping[n].start = base::DeviceId(static_cast<std::size_t>(2 * plan.stage[n]));
  }
  for (std::size_t n = plan.pcg.nodes().size(); n-- > 0;)
    for (const pcg::TensorRef t : plan.pcg.nodes()[n].inputs)
      if (plan.pcg.node(t.node).is_source()) plan.stage[t.node.value] = plan.stage[n];
  plan.stages = 2;
  plan.micro_batches = 1;
  REQUIRE(pcg::violations(plan).empty());
  return sim::simulate_plan(plan, test::star(1, 4)).bytes.total.value();
}

}  // namespace

TEST_CASE("a tied weight's gradients are added shard by shard where both stages cut it alike") {
  const test::Cuts cuts{{"*", {{"b", 2}}}};
  // An all-reduce between the two that hold each of two copies: 2 x (2 - 1) / 2 of the weight from either.
  CHECK(bytes_of_two_stages(true, cuts) - bytes_of_two_stages(false, cuts) == test::about(2 * 2 * kTiedBytes));
}

TEST_CASE("where stages cut a tied weight differently each brings its gradient to the other") {
  const test::Cuts cuts{{"first", {{"b", 2}}}, {"second", {{"n", 2}}}, {"loss", {{"b", 2}}}};
  // Both devices of the first stage want the whole of it, those of the second a half each.
  CHECK(bytes_of_two_stages(true, cuts) - bytes_of_two_stages(false, cuts) == test::about((2 + 1) * kTiedBytes));
}
