// Parallel operators are inserted where layouts differ, and nowhere else.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "operator_zoo.hpp"
#include "pcg/graph/pcg.hpp"
#include "tests/oracles/evaluation.hpp"

namespace pcg {
namespace {

// Sharding of a node by loop names.
struct Cut {
  std::vector<std::pair<std::string, int>> degrees;
  int copies = 1;
};
std::vector<Sharding> shardings(const Graph& g, const std::vector<std::pair<std::string, Cut>>& cuts) {
  std::vector<Sharding> result = unsharded(g);
  for (const auto& [name, cut] : cuts)
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      if (g.nodes()[n].name != name) continue;
      const IterationSpace& space = *g.nodes()[n].space;
      for (const auto& [loop, degree] : cut.degrees) result[n].degrees.at(static_cast<std::size_t>(find_loop(space, loop))) = degree;
      result[n].copies = cut.copies;
    }
  return result;
}

std::vector<std::string> names(const Pcg& p) {
  std::vector<std::string> result;
  for (const PcgNode& n : p.nodes()) result.push_back(n.name);
  return result;
}

// Megatron's MLP (Shoeybi et al., arXiv 1909.08053, section 3): column-parallel, then row-parallel, with a residual.
Graph residual_mlp() {
  GraphBuilder b("residual_mlp");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  const GraphTensorRef up = b.add("up", Linear{.out = 12, .has_bias = true, .activation = Activation::gelu}, {x});
  const GraphTensorRef down = b.add("down", Linear{.out = 6, .has_bias = true}, {up});
  b.add("residual", Binary{}, {down, x});
  return std::move(b).build();
}

TEST_CASE("Megatron's MLP: one replicate in front, one all-reduce behind, nothing in between") {
  const Graph g = residual_mlp();
  const Pcg p = parallelize(
      g, shardings(
             g, {{"x", {{{"d0", 2}}}}, {"up", {{{"b", 2}, {"n", 3}}}}, {"down", {{{"b", 2}, {"k", 3}}}}, {"residual", {{{"b", 2}}, 3}}}));
  CHECK(names(p) == std::vector<std::string>{"x", "up.weight", "up.bias", "x.replicate", "up.weight.replicate", "up.bias.replicate", "up",
                                             "down.weight", "down.bias", "down.weight.replicate", "down.bias.replicate", "down",
                                             "down.reduce", "down.replicate", "residual"});
  CHECK(to_text(p.nodes()[1].outputs[0]) == "[6, 12/3]");  // up.weight is cut as up needs it
  CHECK(*p.nodes()[4].parallel_operator() == ParallelOperator(Replicate{2}));
  CHECK(*p.nodes()[10].parallel_operator() == ParallelOperator(Replicate{6}));  // the bias of a cut k lies on all points
  CHECK(to_text(p.nodes()[11].outputs[0]) == "[4/2, 6] sum 3");
  CHECK(*p.nodes()[12].parallel_operator() == ParallelOperator(Reduce{3}));
  CHECK(*p.nodes()[13].parallel_operator() == ParallelOperator(Replicate{3}));
  CHECK(evaluate(p, 1, 4) == evaluate(g, 4));
}

TEST_CASE("attention: heads cut from the packed projection to the output projection") {
  GraphBuilder b("attention");
  const GraphTensorRef x = b.input("x", real({2, 4, 12}));
  const GraphTensorRef core =
      b.add("core", Attention{.heads = 4, .kv_heads = 2, .causal = true}, {b.add("qkv", Linear{.out = 24, .has_bias = true}, {x})});
  b.add("out", Linear{.out = 12}, {core});
  const Graph g = std::move(b).build();
  const Pcg p = parallelize(g, shardings(g, {{"qkv", {{{"n", 2}}}}, {"core", {{{"heads", 2}}}}, {"out", {{{"k", 2}}}}}));
  CHECK(names(p) == std::vector<std::string>{"x", "qkv.weight", "qkv.bias", "x.replicate", "qkv", "core", "out.weight", "out"});
  CHECK(evaluate(p, 1, 4) == evaluate(g, 4));
}

TEST_CASE("consumers that want one layout share one chain, and chains share what they begin with") {
  GraphBuilder b("fan");
  const GraphTensorRef x = b.input("x", real({6, 4}));
  b.add("p", Unary{.kind = Unary::Kind::exp}, {x});
  b.add("q", Unary{.kind = Unary::Kind::exp}, {x});
  b.add("r", Unary{.kind = Unary::Kind::exp}, {x});
  const Graph g = std::move(b).build();
  const Pcg p = parallelize(g, shardings(g, {{"x", {{{"d0", 3}}}}, {"p", {{}, 2}}, {"q", {{}, 2}}, {"r", {{{"h", 2}}}}}));
  CHECK(names(p) == std::vector<std::string>{"x", "x.combine", "x.replicate", "p", "q", "x.partition", "r"});
  CHECK(p.nodes()[5].inputs[0].node == NodeId(1));
}

TEST_CASE("a tied weight is cut as its first reader needs it and converted for the other") {
  GraphBuilder b("tied");
  const GraphTensorRef table = b.weight("table", real({12, 6}));
  const GraphTensorRef x = b.add("embedding", Embedding{.vocabulary = 12, .width = 6},
                                 {b.input("tokens", {.sizes = {4, 2}, .element = Element::index})}, {table});
  b.add("head", Linear{.out = 12, .transposed_weight = true}, {x}, {table});
  const Graph g = std::move(b).build();
  const Pcg p = parallelize(g, shardings(g, {{"embedding", {{{"v", 3}}}}, {"head", {{{"b", 2}}}}}));
  CHECK(to_text(p.nodes()[0].outputs[0]) == "[12/3, 6]");
  CHECK(names(p) == std::vector<std::string>{"table", "tokens", "tokens.replicate", "embedding", "embedding.reduce", "embedding.partition",
                                             "table.combine", "table.replicate", "head"});
  CHECK(evaluate(p, 1, 4) == evaluate(g, 4));
}

TEST_CASE("an unlawful sharding is an error of its node") {
  const Graph g = residual_mlp();
  CHECK_THROWS_WITH(parallelize(g, shardings(g, {{"down", {{{"k", 5}}}}})), "down: loop k of size 12 does not divide into 5");
  CHECK_THROWS_WITH(parallelize(g, shardings(g, {{"up", {{{"k", 2}}}}})), "up: loop k may not be cut");
}

TEST_CASE("serial undoes parallelize, and sees summands as an addition") {
  for (const zoo::Exhibit& e : zoo::exhibits()) {
    base::Random random(3);
    INFO(e.name);
    const Graph back = serial(parallelize(e.graph, zoo::random_shardings(e.graph, random)));
    if (e.name != "summands") {
      CHECK(back == e.graph);
      continue;
    }
    CHECK(back.nodes().back().op == Operator(Binary{}));
    CHECK(evaluate(back, 2) == evaluate(e.graph, 2));
  }
  CHECK(serial(parallelize(residual_mlp(), unsharded(residual_mlp()))) == residual_mlp());
}

TEST_CASE("a builder refuses what is ill-typed, with the node and the two layouts") {
  PcgBuilder b("bad", {{"all", true}});
  const TensorRef x{b.add("x", Input{real({4, 6})}, {}, {.degrees = {2, 1}}, 0), 0};
  CHECK_THROWS_WITH(b.add("f", Unary{}, {x}, {.degrees = {1, 1}}, 0), "f: input 0 (x) lies as [4/2, 6], the sharding reads it as [4, 6]");
  CHECK_THROWS_WITH(b.add("x", Combine{0, 2}, x, 0), "x: the name is taken");
  CHECK_THROWS_WITH(b.add("w", Weight{real({4})}, {}, {.degrees = {1}, .copies = 2}, 0),
                    "w: copies of a weight are made by a replicate operator");
  CHECK_THROWS_WITH(b.add("c", Combine{0, 4}, x, 0), "c: combine: degree 2 of [4/2, 6] does not divide by 4");
}

TEST_CASE("dot text names every node and the layout on every edge") {
  const Graph g = residual_mlp();
  const std::string text = to_dot(parallelize(g, shardings(g, {{"up", {{{"n", 3}}}}, {"down", {{{"k", 3}}}}})));
  CHECK(text.find("label=\"down.reduce\\nreduce\", shape=ellipse") != std::string::npos);
  CHECK(text.find("label=\"[4, 6] sum 3\"") != std::string::npos);
  CHECK(to_dot(g).find("label=\"up\\nlinear\"") != std::string::npos);
}

}  // namespace

TEST_CASE("every node keeps the loops of its operator, in the graph and in its PCG") {
  for (const zoo::Exhibit& e : zoo::exhibits()) {
    INFO(e.name);
    for (std::size_t n = 0; n < e.graph.nodes().size(); ++n)
      CHECK(*e.graph.nodes()[n].space == iteration_space(e.graph.nodes()[n].op, e.graph.input_shapes(GraphNodeId(n))));
    base::Random random(7);
    const Pcg p = parallelize(e.graph, zoo::random_shardings(e.graph, random));
    for (std::size_t n = 0; n < p.nodes().size(); ++n) {
      const Operator* op = p.nodes()[n].operation();
      CHECK((p.nodes()[n].space != nullptr) == (op != nullptr));
      if (op) CHECK(*p.nodes()[n].space == iteration_space(*op, p.whole_inputs(NodeId(n))));
    }
  }
}

TEST_CASE("a refused node leaves the builder as it was: the next one may have its name") {
  PcgBuilder b("g", {{"model", true}});
  const TensorRef x{b.add("x", Input{real({4, 6})}, {}, {.degrees = {2, 1}}, 0), 0};
  const auto why = [](const base::Attempt<NodeId>& added) { return added.refusal().why; };
  CHECK(why(b.try_add("y", Unary{}, {x}, {.degrees = {3, 1}}, 0)) == "y: loop b of size 4 does not divide into 3");
  CHECK(why(b.try_add("y", Linear{.out = 2}, {x}, {.degrees = {1}}, 0)) == "y: linear: has 1 inputs, expected 2");
  CHECK(why(b.try_add("y", Combine{0, 3}, x, 0)) == "y: combine: degree 2 of [4/2, 6] does not divide by 3");
  CHECK(why(b.try_add("y", Combine{0, 2}, x, 1)) == "y: block 1 is not one of 0 .. 0");
  CHECK(why(b.try_add("x", Combine{0, 2}, x, 0)) == "x: the name is taken");
  CHECK(*b.try_add("y", Unary{}, {x}, {.degrees = {2, 1}}, 0) == NodeId(1));
  CHECK(std::move(b).build().nodes().size() == 2);
}

}  // namespace pcg
