// Which parallel operators the rules put where, on one layer of a small transformer.
#include <doctest/doctest.h>

#include <algorithm>

#include "pcg/evaluator/equivalence.hpp"
#include "problem.hpp"

namespace {

// The parallel operators on activations of the block "layer 0", in order.
std::string movements(const pcg::Plan& plan) {
  std::string result;
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    if (n.parallel_operator() == nullptr || plan.pcg.blocks()[static_cast<std::size_t>(n.block)].name != "layer 0") continue;
    pcg::TensorRef t = n.inputs[0];
    while (plan.pcg.node(t.node).parallel_operator() != nullptr) t = plan.pcg.node(t.node).inputs[0];
    if (plan.pcg.node(t.node).is_source()) continue;
    result += (result.empty() ? "" : " ") + n.name;
  }
  return result;
}

std::string shape_of(const pcg::Plan& plan, const std::string& name) {
  for (const pcg::PcgNode& n : plan.pcg.nodes())
    if (n.name == name) return pcg::to_text(n.outputs[0]);
  return "no " + name;
}

pcg::Plan plan_of(const test::Question& q, search::GridConfig c) { return search::megatron_plan(q.problem(), c).value(); }

}  // namespace

TEST_CASE("data parallelism cuts the batch and moves no activation") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const pcg::Plan p = search::data_parallel_plan(q.problem()).value();
  CHECK(movements(p).empty());
  CHECK(shape_of(p, "layer0.attention.qkv") == "[8/4, 16, 192]");
  CHECK(p.summary == "data 4");
}

TEST_CASE("tensor parallelism: columns, then rows, then one reduction each for attention and MLP") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::GridConfig c;
  c.tensor = 2;
  const pcg::Plan p = plan_of(q, c);
  // Two tensor ranks hold half of the heads and of the MLP each; the row-cut products leave two partial sums, which become two copies.
  CHECK(shape_of(p, "layer0.attention.qkv") == "[8/2, 16, 192/2]");
  CHECK(shape_of(p, "layer0.attention.core") == "[8/2, 16, 64/2]");
  CHECK(shape_of(p, "layer0.attention.out") == "[8/2, 16, 64] sum 2");
  CHECK(shape_of(p, "layer0.mlp.up") == "[8/2, 16, 256/2]");
  CHECK(shape_of(p, "layer0.mlp.down") == "[8/2, 16, 64] sum 2");
  CHECK(movements(p) == "layer0.attention.out.reduce layer0.attention.out.replicate layer0.mlp.down.reduce layer0.mlp.down.replicate");
}

TEST_CASE("sequence parallelism: positions are gathered before columns and scattered after rows") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::GridConfig c;
  c.tensor = 2;
  c.sequence_parallel = true;
  const pcg::Plan p = plan_of(q, c);
  CHECK(shape_of(p, "layer0.norm1") == "[8/2, 16/2, 64]");
  CHECK(shape_of(p, "layer0.attention.qkv") == "[8/2, 16, 192/2]");
  CHECK(movements(p) ==
        "layer0.norm1.combine layer0.norm1.replicate layer0.attention.out.reduce layer0.attention.out.partition "
        "layer0.norm2.combine layer0.norm2.replicate layer0.mlp.down.reduce layer0.mlp.down.partition");
}

TEST_CASE("the vocabulary is cut in the embedding and in the loss") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::GridConfig c;
  c.tensor = 4;
  const pcg::Plan p = plan_of(q, c);
  CHECK(shape_of(p, "head.logits") == "[8, 16, 96/4]");
  CHECK(shape_of(p, "embedding.token") == "[8, 16, 64] sum 4");
}

TEST_CASE("experts are shared among replicas: samples change places with experts and back") {
  const test::Question q(test::kSmallMoe, 1, 4, 8);
  search::GridConfig c;
  c.expert = 4;
  const pcg::Plan p = plan_of(q, c);
  const auto expert = std::ranges::find_if(p.pcg.nodes(), [](const pcg::PcgNode& n) {
    return n.operation() != nullptr && std::holds_alternative<pcg::ExpertLinear>(*n.operation());
  });
  REQUIRE(expert != p.pcg.nodes().end());
  // 4 experts on 4 devices; each holds the tokens of all 8 samples: capacity 2 x 16 x 1 / 4 = 8 for each sample and expert.
  CHECK(pcg::to_text(expert->outputs[0]) == "[4/4, 8, 8, 64]");
  CHECK(p.summary == "data 4 x expert 4");
  // What stands between an expert's products stays with it: only dispatched tokens and results travel.
  CHECK(shape_of(p, "layer0.moe.activation") == "[4/4, 8, 8, 64]");
  CHECK(shape_of(p, "layer0.moe.dispatch") == "[4, 8/4, 8, 32]");
}

TEST_CASE("ranks of context route their own tokens to their own places") {
  const test::Question q(test::kSmallMoe, 1, 4, 8);
  search::GridConfig c;
  c.context = 4;
  CHECK(shape_of(plan_of(q, c), "layer0.moe.dispatch") == "[4, 8, 8/4, 32]");
  CHECK(shape_of(plan_of(q, c), "layer0.moe.up") == "[4, 8, 8/4, 64]");
  CHECK(shape_of(plan_of(q, c), "layer0.moe.combine") == "[8, 16/4, 32]");
  c.expert = 2;  // experts take the inner two of the four
  CHECK(shape_of(plan_of(q, c), "layer0.moe.dispatch") == "[4, 8, 8/4, 32]");
  CHECK(shape_of(plan_of(q, c), "layer0.moe.activation") == "[4/2, 8, 8/2, 64]");
}

TEST_CASE("a pipeline shares out layers; the embedding joins the first stage, the head the last") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  search::GridConfig c;
  c.pipeline = 2;
  const pcg::Plan p = plan_of(q, c);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    if (!node.computes()) continue;
    const std::string& block = p.pcg.blocks()[static_cast<std::size_t>(node.block)].name;
    const int stage = block == "embedding" || block == "layer 0" ? 0 : 1;
    CHECK(p.stage[n] == stage);
    for (pcg::DeviceId d : pcg::devices_of(p.mapping[n], node.sharding)) CHECK(d.value / 2 == static_cast<std::uint32_t>(stage));
  }
  CHECK(p.micro_batches == 4);  // 8 samples, 2 replicas, micro-batches of 1
}

TEST_CASE("devices: tensor innermost, then context, then data, pipeline outermost") {
  const test::Question q(test::kSmallGpt, 2, 8, 8);
  search::GridConfig c;
  c.tensor = c.context = c.data = c.pipeline = 2;
  const pcg::Plan p = plan_of(q, c);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    if (p.pcg.nodes()[n].name != "layer1.attention.qkv") continue;
    // loops b, s, k, n cut 2, 2, 1, 2: device = 8 (second stage) + 4 data + 2 context + tensor
    CHECK(p.mapping[n].start.value == 8);
    CHECK(p.mapping[n].strides == std::vector<int>{4, 2, 1});
  }
}

TEST_CASE("a vocabulary that does not divide is padded to a multiple of 128 x tensor") {
  const test::Question q("{transformer: {layers: 2, hidden: 64, heads: 4, vocab: 99, sequence_length: 16}}", 1, 4, 8);
  search::GridConfig c;
  c.tensor = 2;
  const pcg::Plan p = plan_of(q, c);
  CHECK(p.padding == std::vector<pcg::Padding>{{99, 256}});
  CHECK(p.summary == "data 2 x tensor 2, vocabulary padded from 99 to 256");
  CHECK(shape_of(p, "head.logits") == "[8/2, 16, 256/2]");
}

TEST_CASE("an expert capacity that does not divide among ranks of a sequence is rounded up") {
  // 2 of 6 experts for each of 16 tokens: ceil(2 x 16 / 6) = 6 places, 8 for 4 ranks.
  const test::Question q("{transformer: {layers: 2, hidden: 64, heads: 4, vocab: 96, sequence_length: 16, experts: 6}}", 1, 4, 8);
  for (const bool context : {true, false}) {
    search::GridConfig c;
    (context ? c.context : c.tensor) = 4;
    c.sequence_parallel = !context;
    const pcg::Plan p = plan_of(q, c);
    CHECK(p.padding == std::vector<pcg::Padding>{{6, 8, pcg::Padded::expert_capacity}});
    CHECK(p.summary.ends_with(", expert capacity padded from 6 to 8"));
    CHECK(shape_of(p, "layer0.moe.dispatch") == "[6, 8, 8/4, 64]");
    const auto same = pcg::check_equivalence(p, q.model, 2, 1);
    CHECK_MESSAGE(same.equivalent, same.detail);
  }
  search::GridConfig halves;
  halves.context = 2;
  CHECK(plan_of(q, halves).padding.empty());
}
