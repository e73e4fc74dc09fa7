// Occurrences: what is found, what is not; rewriting: what is kept, what is refused and why.
#include <doctest/doctest.h>

#include <algorithm>

#include "pcg/models/load.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "search/rules/matching/matcher.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

std::string refusal(const base::Attempt<Rewritten>& r) { return r ? "applied" : r.refusal().why; }

using pcg::GraphTensorRef;
using pcg::NodeId;
using pcg::real;

std::vector<Match> matches(const Rule& r, const pcg::Pcg& g) { return Matcher(std::span(&r, 1), g).matches(); }
std::vector<std::string> names(const pcg::Pcg& g) {
  std::vector<std::string> result;
  for (const pcg::PcgNode& n : g.nodes()) result.push_back(n.name);
  return result;
}
const Rule& named(const std::string& name) { return catalogue().at(name); }

const std::string kImage = "x: [n, c, h, v]; y: [o, c, 3, 3]; z: [p, c, 3, 3]";
const Rule& joined_convolutions() {
  static const Rule r = rule("r", kImage, "concat[1](conv(x, y), conv(x, z))", "conv(x, concat[0](y, z))");
  return r;
}

TEST_CASE("a census gathers occurrences by rule, most first, and knows the operators that are in none") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({2, 4})), y = b.input("y", real({2, 4}));
  const GraphTensorRef sum = b.add("sum", pcg::Binary{.kind = pcg::Binary::Kind::add}, {x, y});
  b.add("last", pcg::Unary{.kind = pcg::Unary::Kind::tanh}, {b.add("first", pcg::Unary{.kind = pcg::Unary::Kind::relu}, {sum})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const std::vector<Rule> rules{rule("r1", "x: [m, k]", "gelu(x)", "relu(x)"), rule("r2", "x: [m, k]", "relu(x)", "gelu(x)"),
                                rule("r3", "x: [m, k]; y: [m, k]", "add(x, y)", "add(y, x)")};
  const Census c = census(rules, g);
  REQUIRE(c.rules.size() == 2);
  CHECK(c.rules[0] == RuleOccurrences{.rule = 2, .first = 1, .count = 2, .places = 1});  // x + y and y + x
  CHECK(c.rules[1] == RuleOccurrences{.rule = 1, .first = 0, .count = 1, .places = 1});
  CHECK(c.operators.size() == 3);
  REQUIRE(c.untouched.size() == 1);
  CHECK(g.node(c.untouched[0]).name == "last");
}

TEST_CASE("convolutions of any window and stride, all alike, which the target keeps") {
  auto branches = [](const pcg::Conv2d& first, const pcg::Conv2d& second) {
    pcg::GraphBuilder b("g");
    const GraphTensorRef x = b.input("x", real({2, 4, 8, 8}));
    b.add("c", pcg::Concat{.axis = 1}, {b.add("a", first, {x}), b.add("b", second, {x})});
    return serial_pcg(std::move(b).build());
  };
  const pcg::Conv2d strided{.out = 6, .rows = {.kernel = 1, .stride = 2}, .columns = {.kernel = 5, .stride = 2, .padding = 2}};
  pcg::Conv2d narrow = strided;
  narrow.out = 3;
  const pcg::Pcg g = branches(strided, narrow);
  const std::vector<Match> found = matches(joined_convolutions(), g);
  REQUIRE(found.size() == 1);
  const auto r = apply(joined_convolutions(), found[0], g, {});
  REQUIRE(r);
  pcg::Conv2d wide = strided;
  wide.out = 9;
  CHECK(*r->graph.nodes().back().operation() == pcg::Operator(wide));
  CHECK(r->graph.nodes().back().name == "a");  // keeps the name of the first of its kind
  CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));

  pcg::Conv2d other = strided, biased = strided;
  other.columns.padding = 1;
  other.columns.kernel = 3;
  biased.has_bias = true;
  CHECK(matches(joined_convolutions(), branches(strided, other)).empty());
  CHECK(matches(joined_convolutions(), branches(strided, biased)).empty());
}

TEST_CASE("what is read elsewhere stays: an occurrence whose inside has other readers is none") {
  auto chain = [](bool read) {
    pcg::GraphBuilder b("g");
    const GraphTensorRef t = b.add("t", pcg::Transpose{{1, 0}}, {b.input("x", real({4, 6}))});
    b.add("u", pcg::Unary{}, {b.add("back", pcg::Transpose{{1, 0}}, {t})});
    if (read) b.add("v", pcg::Unary{}, {t});
    return serial_pcg(std::move(b).build());
  };
  CHECK(matches(named("T30"), chain(false)).size() == 1);
  CHECK(matches(named("T30"), chain(true)).empty());
}

TEST_CASE("a half of a split that the rule does not speak of becomes a slice") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef c = b.add("c", pcg::Concat{.axis = 1}, {b.input("x", real({4, 2})), b.input("y", real({4, 6}))});
  const std::vector<GraphTensorRef> halves = b.add_raw("s", pcg::Split{1, {2, 6}}, {c});
  b.add("u", pcg::Unary{}, {halves[0]});
  b.add("v", pcg::Unary{}, {halves[1]});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const auto found = matches(named("T26"), g);
  REQUIRE(found.size() == 1);
  const auto r = apply(named("T26"), found[0], g, {});
  REQUIRE(r);
  CHECK(*r->graph.nodes()[3].operation() == pcg::Operator(pcg::Slice{1, 2, 6}));
  CHECK(r->graph.nodes().size() == g.nodes().size());
  CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));
  // Cut elsewhere, the first half is not x.
  pcg::GraphBuilder other("g");
  const GraphTensorRef d = other.add("c", pcg::Concat{.axis = 1}, {other.input("x", real({4, 2})), other.input("y", real({4, 6}))});
  other.add_raw("s", pcg::Split{1, {4, 4}}, {d});
  CHECK(matches(named("T26"), serial_pcg(std::move(other).build())).empty());
}

TEST_CASE("what is computed for the occurrence alone goes with it; an input stays") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef y = b.add("v", pcg::Unary{}, {b.input("y", real({4, 6}))});
  const GraphTensorRef c = b.add("c", pcg::Concat{.axis = 1}, {b.input("x", real({4, 2})), y});
  b.add("u", pcg::Unary{}, {b.add("s", pcg::Slice{1, 0, 2}, {c})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const auto r = apply(named("T26"), matches(named("T26"), g).at(0), g, {});
  REQUIRE(r);
  CHECK(names(r->graph) == std::vector<std::string>{"y", "x", "u"});
  CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));
}

TEST_CASE("rows of a tensor of more dims: the source says which, or the caller chooses") {
  pcg::GraphBuilder b("g");
  b.add("y", pcg::Unary{}, {b.input("x", real({4, 6, 8}))});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const Rule cut = rule("cut", "x: [m, n]", "relu(x)", "combine[0, d](relu(partition[0, d](x)))");
  const auto found = matches(cut, g);
  REQUIRE(found.size() == 2);
  for (int row : {0, 1}) {
    CHECK(found[static_cast<std::size_t>(row)].row == row);
    const std::vector<int> degrees{2};
    const auto r = apply(cut, found[static_cast<std::size_t>(row)], g, degrees);
    REQUIRE(r);
    CHECK(*r->graph.nodes()[1].parallel_operator() == pcg::ParallelOperator(pcg::Partition{row, 2}));
    CHECK(matches(named("E1 rows"), r->graph).size() == 1);
    CHECK(matches(named("E1 rows"), r->graph)[0].row == row);
  }
}

TEST_CASE("attentions of one rule are alike, and of several none drops anything out") {
  const Rule swap =
      rule("swap", "x: [b, s, 3h]; y: [b, s, 3h]", "concat[0](attention(x), attention(y))", "concat[0](attention(x), attention(y))");
  const auto two = [](pcg::Attention first, pcg::Attention second) {
    pcg::GraphBuilder b("g");
    const GraphTensorRef x = b.add("a", first, {b.input("x", real({2, 4, 24}))}), y = b.add("c", second, {b.input("y", real({2, 4, 24}))});
    b.add("z", pcg::Concat{.axis = 0}, {x, y});
    return serial_pcg(std::move(b).build());
  };
  const pcg::Attention eight{.heads = 8, .kv_heads = 8}, four{.heads = 4, .kv_heads = 4}, random{.heads = 8, .kv_heads = 8, .dropout = 0.1};
  CHECK(matches(swap, two(eight, eight)).size() == 1);
  CHECK(matches(swap, two(eight, four)).empty());
  CHECK(matches(swap, two(random, random)).empty());
}

TEST_CASE("a tensor is known by its number among many outputs of one node") {
  pcg::GraphBuilder b("g");
  const std::vector<GraphTensorRef> parts =
      b.add_raw("s", pcg::Split{1, std::vector<std::int64_t>(300, 1)}, {b.input("x", real({4, 300}))});
  b.add("t", pcg::Transpose{{1, 0}}, {b.add("r", pcg::Unary{}, {parts[256]})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const Rule move = rule("move", "x: [m, n]", "transpose(relu(x))", "relu(transpose(x))");
  const auto found = matches(move, g);
  REQUIRE(found.size() == 1);
  CHECK(found[0].variables[0].output == 256);
  const auto r = apply(move, found[0], g, {});
  REQUIRE(r);
  CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));
}

TEST_CASE("degrees: bound by the source, or given; what does not divide is refused with the reason") {
  pcg::GraphBuilder b("g");
  b.add("y", pcg::Linear{.out = 6}, {b.input("x", real({4, 9}))});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const auto found = matches(named("B3'"), g);
  REQUIRE(found.size() == 1);
  CHECK(found[0].degrees == std::array{0, 0});
  const std::vector<int> two{2}, three{3};
  CHECK(refusal(apply(named("B3'"), found[0], g, two)) == "partition: dim 1 of [4, 9] does not divide by 2 more");
  CHECK(refusal(apply(named("B3'"), found[0], g, {})) == "partition: its degree is not given");
  const auto r = apply(named("B3'"), found[0], g, three);
  REQUIRE(r);
  const auto back = matches(named("B3"), r->graph);
  REQUIRE(back.size() == 1);
  CHECK(back[0].degrees == std::array{3, 0});
}

TEST_CASE("operands of an addition are found in either order") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  b.add("z", pcg::Binary{}, {b.add("r", pcg::Unary{}, {x}), b.input("y", real({4, 6}))});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  CHECK(matches(rule("r", "x: [m, n]; y: [m, n]", "add(x, relu(y))", "add(relu(y), x)"), g).size() == 1);
  CHECK(matches(rule("r", "x: [m, n]; y: [m, n]", "add(relu(y), x)", "add(x, relu(y))"), g).size() == 1);
}

TEST_CASE("broadcast operands, transposed weights and other attributes that no rule has are not matched") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  b.add("z", pcg::Binary{}, {x, b.input("y", real({6}))});
  b.add("l", pcg::Linear{.out = 6, .transposed_weight = true}, {x});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  CHECK(matches(named("F6"), g).empty());
  CHECK(matches(named("B3'"), g).empty());
}

TEST_CASE("two products of one input become one, whose parts are split: operators between them are moved behind") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  const GraphTensorRef p = b.add("p", pcg::Unary{}, {b.add("q", pcg::Linear{.out = 6}, {x})});
  b.add("s", pcg::Binary{}, {p, b.add("k", pcg::Linear{.out = 6}, {x})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  const auto found = matches(named("T28 split"), g);
  REQUIRE(found.size() == 2);  // either one first
  const auto r = apply(named("T28 split"), found[0], g, {});
  REQUIRE(r);
  CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));
  CHECK(names(r->graph) == std::vector<std::string>{"x", "q.weight", "k.weight", "q.weight.concat", "q", "k", "p", "s"});
}

TEST_CASE("biased convolutions of one input in Inception-v3 become one, again and again") {
  // 1x1 convolutions of one input, beside that of a pool: three in each of three modules at 36 rows, of four at 18 and of two at 8, and two
  // in the module that goes from 18 rows to 8.
  const Rule& merge = named("T24 biased split");
  pcg::Pcg g = serial_pcg(pcg::models::builtin("inception-v3-proxy", 8));
  const auto shapes = result_shapes(g);
  const auto convolutions = [&] {
    return std::ranges::count_if(
        g.nodes(), [](const pcg::PcgNode& n) { return n.operation() && std::holds_alternative<pcg::Conv2d>(*n.operation()); });
  };
  REQUIRE(convolutions() == 94);
  Matcher matcher(std::span(&merge, 1), g);
  while (!matcher.matches().empty()) {
    g = apply(merge, matcher.matches().front(), g, {}).value().graph;
    matcher.restart(g);
  }
  CHECK(convolutions() == 94 - (3 + 4 + 2) * 2 - 1);
  CHECK(result_shapes(g) == shapes);
}

TEST_CASE("one product that feeds the other is no pair: the graph would have a cycle") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({6, 6}));
  b.add("k", pcg::Linear{.out = 6}, {x}, {b.add("q", pcg::Linear{.out = 6}, {x})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  for (const Match& m : matches(named("T28 split"), g)) {
    CHECK(refusal(apply(named("T28 split"), m, g, {})) == "the graph would have a cycle");
  }
}

TEST_CASE("a result stays a result") {
  pcg::GraphBuilder b("g");
  b.add("back", pcg::Transpose{{1, 0}}, {b.add("t", pcg::Transpose{{1, 0}}, {b.input("x", real({4, 6}))})});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  CHECK(refusal(apply(named("T30"), matches(named("T30"), g).at(0), g, {})) == "the graph would have other results, or in another order");
}

TEST_CASE("numbers: a scaling by one is a scaling by the other only if they are equal") {
  const Rule r = rule("r", "x: [m, n]; y: [m, n]; s: []", "add(scale(x, s), scale(y, s))", "scale(add(x, y), s)");
  auto scaled = [](double a, double c) {
    pcg::GraphBuilder b("g");
    const pcg::Unary first{pcg::Unary::Kind::scale, a}, second{pcg::Unary::Kind::scale, c};
    b.add("z", pcg::Binary{}, {b.add("a", first, {b.input("x", real({4, 6}))}), b.add("b", second, {b.input("y", real({4, 6}))})});
    return serial_pcg(std::move(b).build());
  };
  const pcg::Pcg g = scaled(3, 3);
  REQUIRE(matches(r, g).size() == 2);
  const auto next = apply(r, matches(r, g)[0], g, {});
  REQUIRE(next);
  CHECK(*next->graph.nodes().back().operation() == pcg::Operator(pcg::Unary{pcg::Unary::Kind::scale, 3}));
  CHECK(matches(r, scaled(3, 4)).empty());
}

}  // namespace
}  // namespace rules::rewriting
