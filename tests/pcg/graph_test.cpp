// Building computation graphs.
#include <doctest/doctest.h>

#include "base/check.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/models/load.hpp"
#include "tests/about.hpp"

namespace pcg {
namespace {

// x [2, 4] -> up [2, 8] -> relu -> down [2, 4], added to x.
Graph residual() {
  GraphBuilder b("residual");
  b.begin_block("only");
  const GraphTensorRef x = b.input("x", {.sizes = {2, 4}});
  GraphTensorRef y = b.add("up", Linear{.out = 8, .has_bias = true}, {x});
  y = b.add("relu", Unary{}, {y});
  y = b.add("down", Linear{.out = 4}, {y});
  b.add("sum", Binary{}, {x, y});
  return std::move(b).build();
}

TEST_CASE("weights are created before their reader and named after it") {
  const Graph g = residual();
  std::vector<std::string> names;
  for (const GraphNode& n : g.nodes()) names.push_back(n.name);
  CHECK(names == std::vector<std::string>{"x", "up.weight", "up.bias", "up", "relu", "down.weight", "down", "sum"});
  CHECK(g.parameters() == 4 * 8 + 8 + 8 * 4);
  CHECK(g.batch() == 2);
  CHECK(g.forward_flops().value() == 2 * 2 * (4 * 8 + 8 * 4));  // two multiply-adds' FLOPs, batch 2; bias and relu do not count
}

TEST_CASE("results are what nothing reads, consumers are ascending") {
  const Graph g = residual();
  CHECK(g.results() == std::vector<GraphTensorRef>{{GraphNodeId(7), 0}});
  const auto consumers = g.consumers();
  CHECK(consumers[0] == std::vector<GraphNodeId>{GraphNodeId(3), GraphNodeId(7)});
  CHECK(consumers[7].empty());
}

TEST_CASE("weights that are handed over are not created again") {
  GraphBuilder b("tied");
  const GraphTensorRef tokens = b.input("tokens", {.sizes = {2, 3}, .element = Element::index});
  const GraphTensorRef table = b.weight("table", {.sizes = {10, 4}});
  const GraphTensorRef x = b.add("embed", Embedding{.vocabulary = 10, .width = 4}, {tokens}, {table});
  b.add("logits", Linear{.out = 10, .has_bias = true, .transposed_weight = true}, {x}, {table});
  const Graph g = std::move(b).build();
  CHECK(g.parameters() == 10 * 4 + 10);
  CHECK(g.blocks().size() == 1);
  CHECK(g.blocks()[0].name == "model");
}

TEST_CASE("two nodes of one name are our mistake") {
  GraphBuilder b("twice");
  b.input("x", {.sizes = {1}});
  b.input("x", {.sizes = {1}});
  CHECK_THROWS_AS((void)std::move(b).build(), base::InternalError);
}

TEST_CASE("a graph at another batch and back is the same graph; FLOPs are proportional to the batch") {
  for (const std::string name : {"mlp-mnist", "bert-large", "t5-large", "vit-huge", "moe-380m", "dlrm"}) {
    const Graph g = models::builtin(name, 4);
    const Graph six = with_batch(g, 6);
    CHECK_MESSAGE(with_batch(six, 4) == g, name);
    CHECK(six.batch() == 6);
    CHECK(six.parameters() == g.parameters());
    CHECK(six.forward_flops().value() == test::about(1.5 * g.forward_flops().value()));
    CHECK(six == models::builtin(name, 6));
  }
}

TEST_CASE("at another batch, parts of samples keep their shares, and parts of anything else their sizes") {
  const auto at = [](std::int64_t batch) {
    GraphBuilder b("joined");
    const GraphTensorRef x = b.input("x", {.sizes = {batch, 8}});
    const GraphTensorRef both = b.add("both", Concat{.axis = 0}, {x, x});
    const std::vector<GraphTensorRef> parts = b.add_raw("samples", Split{.axis = -2, .sizes = {batch / 2, 3 * batch / 2}}, {both});
    b.add_raw("features", Split{.axis = 1, .sizes = {2, 6}}, {parts[1]});
    return std::move(b).build();
  };
  CHECK(with_batch(at(4), 6) == at(6));
  CHECK(with_batch(at(6), 4) == at(4));
}

TEST_CASE("nodes are in topological order and in the order of their blocks") {
  for (const std::string& name : models::builtin_names()) {
    const Graph g = models::builtin(name, 1);
    int block = 0;
    for (std::size_t i = 0; i < g.nodes().size(); ++i) {
      const GraphNode& n = g.nodes()[i];
      for (const GraphTensorRef t : n.inputs) CHECK(t.node.value < i);
      CHECK(n.block >= block);
      block = n.block;
    }
  }
}

}  // namespace
}  // namespace pcg
