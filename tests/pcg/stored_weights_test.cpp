// Weights that are stored as one.
#include "pcg/graph/stored_weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/parallelize.hpp"
#include "pcg/operators/operator_yaml.hpp"

namespace {

const pcg::TensorShape kRows{{4, 6}, pcg::Element::real};

// Two products of one tensor; or, joined, one product of both weights and its halves.
pcg::Graph products(bool joined, bool is_swapped = false) {
  pcg::GraphBuilder g("products");
  const auto x = g.input("x", kRows);
  auto w = g.weight("w", {{6, 8}, pcg::Element::real}), u = g.weight("u", {{6, 4}, pcg::Element::real});
  if (joined) {
    if (is_swapped) std::swap(w, u);
    const auto both = g.add("both", pcg::Concat{.axis = 1}, {w, u});
    const auto y = g.add_raw("product", pcg::Linear{.out = 12}, {x, both}).front();
    g.add_raw("halves", pcg::Split{.axis = 1, .sizes = {8, 4}}, {y});
  } else {
    g.add("a", pcg::Linear{.out = 8}, {x}, {w});
    g.add("b", pcg::Linear{.out = 4}, {x}, {u});
  }
  return std::move(g).build();
}

pcg::Plan plan_of(const pcg::Graph& graph, int columns) {
  std::vector<pcg::Sharding> shardings = pcg::unsharded(graph);
  for (std::size_t n = 0; n < shardings.size(); ++n)
    if (std::holds_alternative<pcg::Linear>(graph.nodes()[n].op)) shardings[n].degrees.back() = columns;
  pcg::Plan plan;
  plan.gpus = columns;
  plan.pcg = pcg::parallelize(graph, shardings);
  plan.mapping.resize(plan.pcg.nodes().size());
  plan.stage.assign(plan.pcg.nodes().size(), 0);
  return plan;
}

}  // namespace

TEST_CASE("a concat of weights becomes one weight, which names its parts") {
  const pcg::Graph graph = pcg::with_stored_weights(products(true));
  CHECK(graph.parameters() == products(false).parameters());
  const auto both = std::ranges::find(graph.nodes(), "both", &pcg::GraphNode::name);
  REQUIRE(both != graph.nodes().end());
  const pcg::Weight& weight = std::get<pcg::Weight>(both->op);
  CHECK(weight.parts == std::vector<pcg::WeightPart>{{"w", {6, 8}, {0, 0}, {6, 8}}, {"u", {6, 4}, {0, 0}, {6, 4}}});
  CHECK(weight.along == 1);
  CHECK(std::ranges::find(graph.nodes(), "w", &pcg::GraphNode::name) == graph.nodes().end());
  CHECK(pcg::operators_on_weights(graph) == 0);
  CHECK(pcg::operators_on_weights(products(true)) == 1);
}

TEST_CASE("a plan with joined weights computes what the model computes, cut or not; with the parts swapped it does not") {
  const pcg::Graph model = products(false);
  for (const int columns : {1, 2, 4}) {
    const pcg::EquivalenceResult r = pcg::check_equivalence(plan_of(pcg::with_stored_weights(products(true)), columns), model, 2, 1);
    CHECK_MESSAGE(r.equivalent, r.detail);
  }
  CHECK_FALSE(pcg::check_equivalence(plan_of(pcg::with_stored_weights(products(true, true)), 2), model, 2, 1).equivalent);
}
