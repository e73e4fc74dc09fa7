// Every operator computes shard by shard what it computes whole, and the evaluator sees it when it does not.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "operator_zoo.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "tests/oracles/evaluation.hpp"

namespace pcg {
namespace {

TEST_CASE("the field: sums, products and inverses modulo 2^31 - 1") {
  CHECK(field::add(field::kPrime - 1, 2) == 1);
  CHECK(field::subtract(1, 2) == field::kPrime - 1);
  CHECK(rc::check([] {
    const auto a = *rc::gen::inRange<std::uint32_t>(1, field::kPrime);
    RC_ASSERT(field::multiply(a, field::inverse(a)) == 1U);
    RC_ASSERT(field::reduce(field::fold(std::uint64_t{a} * a)) == field::multiply(a, a));
  }));
}

TEST_CASE("every operator computes under every lawful sharding what it computes alone") {
  for (const zoo::Exhibit& e : zoo::exhibits()) {
    INFO(e.name);
    const std::vector<FieldTensor> alone = evaluate(e.graph, 1);
    base::Random random(2026);
    std::set<int> points;  // of the operator: more than one kind of cut was tried
    for (int i = 0; i < 60; ++i) {
      const std::vector<Sharding> shardings = zoo::random_shardings(e.graph, random);
      points.insert(shardings.back().points());
      CHECK(evaluate(parallelize(e.graph, shardings), 1, 1) == alone);
    }
    CHECK(points.size() >= 3);
  }
}

TEST_CASE("every loop that may be cut is cut alone") {
  for (const zoo::Exhibit& e : zoo::exhibits()) {
    const std::vector<FieldTensor> alone = evaluate(e.graph, 3);
    const GraphNodeId last(e.graph.nodes().size() - 1);
    const IterationSpace& space = *e.graph.node(last).space;
    for (std::size_t l = 0; l < space.loops.size(); ++l)
      for (int degree : {2, 3}) {
        std::vector<Sharding> shardings = unsharded(e.graph);
        shardings.back().degrees[l] = degree;
        if (violation(space, shardings.back(), e.graph.input_shapes(last), e.graph.node(last).outputs)) continue;
        INFO(e.name, " ", space.loops[l].name, " ", degree);
        CHECK(evaluate(parallelize(e.graph, shardings), 1, 3) == alone);
      }
  }
}

TEST_CASE("micro-batches one after another are the batch") {
  GraphBuilder b("mlp");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  b.add("down", Linear{.out = 2, .has_bias = true},
        {b.add("drop", Dropout{}, {b.add("up", Linear{.out = 8, .activation = Activation::gelu}, {x})})});
  const Graph whole = std::move(b).build();
  const Graph half = with_batch(whole, 2);
  CHECK(evaluate(parallelize(half, unsharded(half)), 2, 5)[0].shape == evaluate(whole, 5)[0].shape);
  GraphBuilder c("mlp");
  c.add("down", Linear{.out = 2}, {c.add("up", Linear{.out = 8, .activation = Activation::gelu}, {c.input("x", real({4, 6}))})});
  const Graph plain = std::move(c).build();
  const Graph quarter = with_batch(plain, 1);
  CHECK(evaluate(parallelize(quarter, unsharded(quarter)), 4, 5) == evaluate(plain, 5));
}

TEST_CASE("the stand-ins are not linear, and depend on all that the operator depends on") {
  auto run = [](const Operator& op, const std::vector<TensorShape>& in) {
    GraphBuilder b("g");
    std::vector<GraphTensorRef> refs;
    for (const TensorShape& s : in) refs.push_back(b.input("x" + std::to_string(refs.size()), s));
    b.add("op", op, refs);
    return evaluate(std::move(b).build(), 7)[0].values;
  };
  CHECK(run(Unary{.kind = Unary::Kind::relu}, {real({2})}) != run(Unary{.kind = Unary::Kind::gelu}, {real({2})}));
  CHECK(run(Attention{.heads = 2, .kv_heads = 2}, {real({1, 3, 12})}) !=
        run(Attention{.heads = 2, .kv_heads = 2, .causal = true}, {real({1, 3, 12})}));
  CHECK(run(Attention{.heads = 2, .kv_heads = 2}, {real({1, 3, 12})}) !=
        run(Attention{.heads = 2, .kv_heads = 2, .rope = true}, {real({1, 3, 12})}));
  CHECK(run(LayerNorm{}, {real({1, 3})})[0] != run(LayerNorm{}, {real({1, 4})})[0]);  // the first element of a longer row
}

TEST_CASE("an activation inside a linear is the operator of that name") {
  GraphBuilder a("inside"), b("outside");
  a.add("l", Linear{.out = 3, .activation = Activation::tanh}, {a.input("x", real({2, 4}))});
  b.add("t", Unary{.kind = Unary::Kind::tanh}, {b.add("l", Linear{.out = 3}, {b.input("x", real({2, 4}))})});
  CHECK(evaluate(std::move(a).build(), 9) == evaluate(std::move(b).build(), 9));
}

TEST_CASE("models: a random plan of every builtin computes what the model computes") {
  for (const std::string& name : models::builtin_names()) {
    const Graph g = models::builtin(name, 12);
    if (g.nodes().size() > 450) continue;  // the same layers, more often
    base::Random random(11);
    Plan plan;
    plan.pcg = parallelize(g, zoo::random_shardings(g, random));
    const EquivalenceResult r = check_equivalence(plan, g, 1, 5);
    CHECK_MESSAGE(r.equivalent, name, ": ", r.detail);
  }
}

}  // namespace
}  // namespace pcg
