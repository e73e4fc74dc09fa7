// Weights that are stored as one, and in parts.
#include "pcg/graph/stored_weights.hpp"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <algorithm>

#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/pcg.hpp"
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

// The product of two tensors side by side and a weight; or the sum of a product of each and its rows of the weight.
pcg::Graph layer(bool apart, std::int64_t second_rows_from = 4) {
  pcg::GraphBuilder g("layer");
  const auto x = g.input("x", {{8, 4}, pcg::Element::real}), y = g.input("y", {{8, 6}, pcg::Element::real});
  const auto w = g.weight("w", {{10, 8}, pcg::Element::real});
  if (apart) {
    const auto top = g.add("top", pcg::Slice{.axis = 0, .begin = 0, .length = 4}, {w});
    const auto bottom = g.add("bottom", pcg::Slice{.axis = 0, .begin = second_rows_from, .length = 6}, {w});
    const auto a = g.add("a", pcg::Linear{.out = 8}, {x}, {top}), b = g.add("b", pcg::Linear{.out = 8}, {y}, {bottom});
    g.add("product", pcg::Binary{}, {a, b});
  } else {
    g.add("product", pcg::Linear{.out = 8}, {g.add("both", pcg::Concat{.axis = 1}, {x, y})}, {w});
  }
  return std::move(g).build();
}

const pcg::Weight& stored(const pcg::Graph& graph, std::string_view name) {
  const auto at = std::ranges::find(graph.nodes(), name, &pcg::GraphNode::name);
  REQUIRE(at != graph.nodes().end());
  return std::get<pcg::Weight>(at->op);
}

// A weight that is cut and joined at random, and read by products of blocks of x: adds what computes x . w.
struct Cutting {
  pcg::GraphBuilder& g;
  int count = 0;
  std::string name() { return "cut" + std::to_string(count++); }

  // x . w, where w has rows and columns of its own.
  pcg::GraphTensorRef product(pcg::GraphTensorRef x, pcg::GraphTensorRef w, int depth) {
    const std::int64_t rows = g.shape(w).sizes[0], columns = g.shape(w).sizes[1];
    const int what = depth == 0 ? 0 : *rc::gen::inRange(0, 4);
    if (what == 1 && rows > 1) {
      const std::int64_t at = *rc::gen::inRange<std::int64_t>(1, rows);
      const auto xs = g.add_raw(name(), pcg::Split{.axis = 1, .sizes = {at, rows - at}}, {x});
      const auto ws = g.add_raw(name(), pcg::Split{.axis = 0, .sizes = {at, rows - at}}, {w});
      return g.add(name(), pcg::Binary{}, {product(xs[0], ws[0], depth - 1), product(xs[1], ws[1], depth - 1)});
    }
    if (what == 2 && columns > 1) {
      const std::int64_t at = *rc::gen::inRange<std::int64_t>(1, columns);
      const auto a = g.add(name(), pcg::Slice{.axis = 1, .begin = 0, .length = at}, {w});
      const auto b = g.add(name(), pcg::Slice{.axis = -1, .begin = at, .length = columns - at}, {w});
      return g.add(name(), pcg::Concat{.axis = 1}, {product(x, a, depth - 1), product(x, b, depth - 1)});
    }
    // With the columns in another order.
    if (what == 3 && columns > 1) {
      const std::int64_t at = *rc::gen::inRange<std::int64_t>(1, columns);
      const auto ws = g.add_raw(name(), pcg::Split{.axis = 1, .sizes = {at, columns - at}}, {w});
      const auto turned = g.add(name(), pcg::Concat{.axis = 1}, {ws[1], ws[0]});
      const auto ys = g.add_raw(name(), pcg::Split{.axis = 1, .sizes = {columns - at, at}}, {product(x, turned, depth - 1)});
      return g.add(name(), pcg::Concat{.axis = 1}, {ys[1], ys[0]});
    }
    return g.add(name(), pcg::Linear{.out = columns}, {x}, {w});
  }
};

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

TEST_CASE("slices of a weight become weights of their own, which say what of the model's they are") {
  const pcg::Graph graph = pcg::with_stored_weights(layer(true));
  CHECK(graph.parameters() == 80);
  CHECK(pcg::operators_on_weights(graph) == 0);
  CHECK(stored(graph, "w.from0") == pcg::Weight{{{4, 8}}, {{"w", {10, 8}, {0, 0}, {4, 8}}}, 0});
  CHECK(stored(graph, "w.from4") == pcg::Weight{{{6, 8}}, {{"w", {10, 8}, {4, 0}, {6, 8}}}, 0});
  CHECK(pcg::with_stored_weights(graph) == graph);
}

TEST_CASE("parts of several weights are joined, and a block that reaches over two parts has a part of each") {
  pcg::GraphBuilder g("parts");
  const auto x = g.input("x", kRows);
  const auto w = g.weight("w", {{6, 8}, pcg::Element::real}), u = g.weight("u", {{6, 4}, pcg::Element::real});
  const auto both = g.add("both", pcg::Concat{.axis = 1}, {w, u});
  const auto cut = g.add_raw("cut", pcg::Split{.axis = 1, .sizes = {5, 5, 2}}, {both});
  for (const auto t : cut) g.add(std::to_string(t.output), pcg::Linear{.out = g.shape(t).sizes[1]}, {x}, {t});
  const pcg::Graph graph = pcg::with_stored_weights(std::move(g).build());
  CHECK(graph.parameters() == 72);
  CHECK(stored(graph, "w.from0").parts == std::vector<pcg::WeightPart>{{"w", {6, 8}, {0, 0}, {6, 5}}});
  CHECK(stored(graph, "cut.1").parts == std::vector<pcg::WeightPart>{{"w", {6, 8}, {0, 5}, {6, 3}}, {"u", {6, 4}, {0, 0}, {6, 2}}});
  CHECK(stored(graph, "u.from2").parts == std::vector<pcg::WeightPart>{{"u", {6, 4}, {0, 2}, {6, 2}}});
}

TEST_CASE("a weight of which something is read twice, or not at all, stays whole") {
  for (const std::int64_t from : {std::int64_t{2}, std::int64_t{3}}) {
    const pcg::Graph graph = layer(true, from);
    CHECK(pcg::with_stored_weights(graph) == graph);
  }
}

TEST_CASE("a plan with a weight in parts computes what the model computes, cut or not; with other rows it does not") {
  for (const int columns : {1, 2, 4}) {
    pcg::Plan plan = plan_of(pcg::with_stored_weights(layer(true)), columns);
    const pcg::EquivalenceResult r = pcg::check_equivalence(plan, layer(false), 2, 1);
    CHECK_MESSAGE(r.equivalent, r.detail);
  }
  CHECK_FALSE(pcg::check_equivalence(plan_of(layer(true, 3), 1), layer(false), 2, 1).equivalent);
}

TEST_CASE("what would be trained apart is no weight of the model") {
  const pcg::WeightPart upper{"w", {10, 8}, {0, 0}, {4, 8}}, lower{"w", {10, 8}, {4, 0}, {6, 8}};
  const auto detail = [&](const pcg::WeightPart& first, const pcg::WeightPart& second) {
    pcg::GraphBuilder g("layer");
    const auto x = g.input("x", {{8, 4}, pcg::Element::real}), y = g.input("y", {{8, 6}, pcg::Element::real});
    const auto top = g.add_raw("top", pcg::Weight{{first.sizes}, {first}}, {}).front();
    const auto bottom = g.add_raw("bottom", pcg::Weight{{second.sizes}, {second}}, {}).front();
    const auto a = g.add("a", pcg::Linear{.out = 8}, {x}, {top}), b = g.add("b", pcg::Linear{.out = 8}, {y}, {bottom});
    g.add("product", pcg::Binary{}, {a, b});
    return pcg::check_equivalence(plan_of(std::move(g).build(), 1), layer(false), 2, 1).detail;
  };
  CHECK(detail(upper, lower).starts_with("equivalent"));
  CHECK(detail(upper, {"w", {10, 8}, {3, 0}, {6, 8}}) ==
        "elements of \"w\" are stored in \"top\" and in \"bottom\", where they would be trained apart");
  CHECK(detail(upper, {"w", {12, 8}, {4, 0}, {6, 8}}) == "\"w\" has other sizes as a part of \"top\" than as one of \"bottom\"");
  CHECK(detail({"w", {12, 8}, {0, 0}, {4, 8}}, {"w", {12, 8}, {4, 0}, {6, 8}}) == "\"w\" is [12, 8] in the plan and [10, 8] in the model");
  CHECK(detail(upper, {"v", {6, 8}, {0, 0}, {6, 8}}).find("\"v\"") != std::string::npos);
}

TEST_CASE("a weight may be cut and joined in any way: all of it is stored once, and the plan is the model's") {
  rc::check([] {
    const std::int64_t rows = *rc::gen::inRange<std::int64_t>(1, 12), columns = *rc::gen::inRange<std::int64_t>(1, 12);
    const auto make = [&](int depth) {
      pcg::GraphBuilder g("cut");
      const auto x = g.input("x", {{4, rows}, pcg::Element::real});
      const auto w = g.weight("w", {{rows, columns}, pcg::Element::real});
      g.add("twice", pcg::Unary{pcg::Unary::Kind::scale, 2}, {Cutting{g}.product(x, w, depth)});
      return std::move(g).build();
    };
    const pcg::Graph model = make(0), graph = pcg::with_stored_weights(make(3));
    RC_ASSERT(graph.parameters() == rows * columns);
    RC_ASSERT(pcg::operators_on_weights(graph) == 0U);
    const pcg::EquivalenceResult r = pcg::check_equivalence(plan_of(graph, 1), model, 1, 1);
    if (!r.equivalent) RC_FAIL(r.detail);
    // A part that is not where it says refutes it: moved, it holds other elements or some twice.
    pcg::GraphBuilder wrong("cut");
    bool is_moved = false;
    for (const pcg::GraphNode& n : graph.nodes()) {
      pcg::Operator op = n.op;
      if (auto* weight = std::get_if<pcg::Weight>(&op); weight != nullptr && !is_moved)
        for (pcg::WeightPart& p : weight->parts)
          for (std::size_t d = 0; d < 2 && !is_moved; ++d)
            if (p.sizes[d] < p.whole[d]) {
              p.begin[d] += p.begin[d] > 0 ? -1 : 1;
              is_moved = true;
            }
      (void)wrong.add_raw(n.name, std::move(op), n.inputs);
    }
    if (is_moved) RC_ASSERT(!pcg::check_equivalence(plan_of(std::move(wrong).build(), 1), model, 1, 1).equivalent);
  });
}
