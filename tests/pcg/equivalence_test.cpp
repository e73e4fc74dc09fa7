// foreshard check: what a plan computes against what its model computes; and shrinking, which makes that possible.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <set>

#include "operator_zoo.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/load.hpp"
#include "pcg/resizing/draw_sizes.hpp"
#include "pcg/resizing/rebuild.hpp"
#include "tests/oracles/evaluation.hpp"

namespace pcg {
namespace {

Graph gpt() {
  models::TransformerConfig c;
  c.name = "gpt";
  c.layers = 2;
  c.hidden = 1024;
  c.heads = 16;
  c.vocab = 50257;
  c.sequence_length = 128;
  return models::transformer(c, 16);
}

Plan plan_of(const Graph& g, const std::vector<Sharding>& s) {
  Plan p;
  p.pcg = parallelize(g, s);
  return p;
}

// Every operator's leading b in 4; heads, columns, then rows in 2.
std::vector<Sharding> three_d(const Graph& g) {
  std::vector<Sharding> all;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const GraphNode& node = g.nodes()[n];
    const std::vector<TensorShape> inputs = g.input_shapes(GraphNodeId(n));
    const IterationSpace& space = *node.space;
    Sharding s = unsharded(space);
    auto cut = [&](const char* loop, int degree) {
      Sharding more = s;
      if (const int l = find_loop(space, loop); l >= 0) more.degrees[static_cast<std::size_t>(l)] = degree;
      if (!violation(space, more, inputs, node.outputs)) s = more;
    };
    cut("b", 4);
    if (std::holds_alternative<Input>(node.op)) cut("d0", 4);
    if (std::holds_alternative<Attention>(node.op)) cut("heads", 2);
    else if (const Linear* l = std::get_if<Linear>(&node.op)) cut(l->out == 1024 ? "k" : "n", 2);
    all.push_back(s);
  }
  return all;
}

TEST_CASE("a plan of data and tensor parallelism computes what the model computes") {
  const Graph g = gpt();
  Plan p = plan_of(g, three_d(g));
  p.micro_batches = 8;
  const EquivalenceResult r = check_equivalence(p, g, 3, 1);
  CHECK_MESSAGE(r.equivalent, r.detail);
  CHECK(r.detail.starts_with("equivalent at 3 sizes: "));
}

TEST_CASE("the model is padded as the plan says") {
  const Graph g = gpt();
  Plan p;
  p.padding = {{50257, 50304}};
  const Graph wide = padded(g, p.padding);
  p.pcg = parallelize(wide, three_d(wide));
  CHECK(check_equivalence(p, g, 2, 1).equivalent);
  p.padding.clear();
  CHECK(check_equivalence(p, g, 2, 1).detail.find("in the plan and [50257, 1024] in the model") != std::string::npos);
}

TEST_CASE("padding widens the vocabulary alone, though other sizes may equal it") {
  models::TransformerConfig c;
  c.layers = 1;
  c.hidden = c.vocab = 36;
  c.heads = 6;
  c.sequence_length = 4;
  const Graph g = models::transformer(c, 2);
  const std::vector<Padding> padding = {{36, 40}};
  CHECK(padded(g, padding).parameters() == g.parameters() + 4 * 36);  // the embedding, which the head shares
}

TEST_CASE("the model's batch does not matter: the plan's micro-batch does") {
  const Graph g = gpt();
  CHECK(check_equivalence(plan_of(g, three_d(g)), with_batch(g, 48), 1, 1).equivalent);
}

// A graph of two linear operators of equal shape with a residual, built wrong in one way at a time.
enum class Wrong { nothing, weights_swapped, no_residual, other_activation, other_weight_name, other_order };
Graph block(Wrong wrong) {
  GraphBuilder b("block");
  const GraphTensorRef x = b.input("x", real({8, 32}));
  const GraphTensorRef first = b.weight(wrong == Wrong::other_weight_name ? "w" : "first", real({32, 32})),
                       second = b.weight("second", real({32, 32}));
  const bool swapped = wrong == Wrong::weights_swapped;
  const Activation a = wrong == Wrong::other_activation ? Activation::relu : Activation::gelu;
  const GraphTensorRef h = b.add("h", Linear{.out = 32, .activation = a}, {x}, {swapped ? second : first});
  const GraphTensorRef y = b.add("y", Linear{.out = 32}, {h}, {swapped ? first : second});
  if (wrong == Wrong::no_residual) return std::move(b).build();
  b.add("r", Binary{.kind = Binary::Kind::subtract}, wrong == Wrong::other_order ? std::vector{x, y} : std::vector{y, x});
  return std::move(b).build();
}

TEST_CASE("a plan that computes something else is found out, with the place of the first difference") {
  const Graph model = block(Wrong::nothing);
  CHECK(check_equivalence(plan_of(model, three_d(model)), model, 2, 3).equivalent);
  for (Wrong wrong : {Wrong::weights_swapped, Wrong::no_residual, Wrong::other_activation, Wrong::other_order}) {
    const Graph other = block(wrong);
    const EquivalenceResult r = check_equivalence(plan_of(other, three_d(other)), model, 2, 3);
    CHECK(!r.equivalent);
    CHECK(r.detail.starts_with("\"r\"[0, 0] is "));
    CHECK(r.detail.find("(micro-batch 0, sizes 8 -> ") != std::string::npos);
  }
  const Graph other = block(Wrong::other_weight_name);
  CHECK(check_equivalence(plan_of(other, three_d(other)), model, 2, 3).detail == "the plan has no \"first\", which the model reads");
}

TEST_CASE("causal attention, its heads and the slices of a tensor are told apart") {
  auto model = [](bool causal, std::int64_t heads, std::int64_t begin) {
    GraphBuilder b("g");
    const GraphTensorRef a = b.add("a", Attention{.heads = heads, .kv_heads = heads, .causal = causal}, {b.input("x", real({4, 8, 48}))});
    b.add("s", Slice{.axis = 1, .begin = begin, .length = 1}, {a});
    return std::move(b).build();
  };
  auto same = [&](const Graph& plan) { return check_equivalence(plan_of(plan, unsharded(plan)), model(true, 4, 0), 2, 3).equivalent; };
  CHECK(same(model(true, 4, 0)));
  CHECK(!same(model(false, 4, 0)));
  CHECK(!same(model(true, 2, 0)));
  CHECK(!same(model(true, 4, 7)));
}

TEST_CASE("drawn sizes are small, keep equal sizes equal, and are multiples of the degrees") {
  const Graph g = gpt();
  const Pcg p = parallelize(g, three_d(g));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const DrawnSizes drawn = draw_sizes(g, &p, std::array{seed}, 1);
    REQUIRE(drawn.draws.size() == 1);
    const Graph& small = drawn.draws[0].small.graph;
    CHECK(small.nodes().size() == g.nodes().size());
    CHECK(small.batch() % 4 == 0);
    CHECK(small.parameters() < 20'000);
    CHECK(serial(*drawn.draws[0].small.pcg) == small);
  }
}

TEST_CASE("every builtin can be shrunk and evaluated: each of its operators has a meaning") {
  for (const std::string& name : models::builtin_names()) {
    const Graph g = models::builtin(name, 4);
    INFO(name);
    const DrawnSizes drawn = draw_sizes(g, nullptr, std::array{std::uint64_t{1}}, 1);
    REQUIRE(drawn.draws.size() == 1);
    const Graph& small = drawn.draws[0].small.graph;
    CHECK(small.results().size() == g.results().size());
    CHECK(small.parameters() < g.parameters() / 10);
    CHECK(evaluate(small, 1).size() == g.results().size());
  }
}

// Blocks of samples, rows and columns of everything that has them, as far as each may be cut; how many nodes of each kind have cut images.
struct Spatial {
  std::vector<Sharding> shardings;
  std::map<std::string_view, int> cut;
};
Spatial spatial(const Graph& g, std::array<int, 3> samples_rows_columns) {
  Spatial result;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const GraphNode& node = g.nodes()[n];
    const std::vector<TensorShape> inputs = g.input_shapes(GraphNodeId(n));
    const IterationSpace& space = *node.space;
    Sharding s = unsharded(space);
    const auto cut = [&](std::size_t dim, int degree) {
      const int loop = space.outputs[0][dim];
      if (degree == 1 || loop < 0) return;
      Sharding more = s;
      more.degrees[static_cast<std::size_t>(loop)] = degree;
      if (violation(space, more, inputs, node.outputs)) return;
      s = more;
      if (dim > 0) ++result.cut[kind_name(node.op)];
    };
    if (!std::holds_alternative<Weight>(node.op) && node.outputs[0].sizes.size() == 4) {
      cut(0, samples_rows_columns[0]);
      cut(2, samples_rows_columns[1]);
      cut(3, samples_rows_columns[2]);
    }
    result.shardings.push_back(s);
  }
  return result;
}
void check_spatial(const char* name, std::array<int, 3> samples_rows_columns, std::initializer_list<const char*> kinds) {
  INFO(std::string(name));
  const Graph g = models::builtin(name, 4);
  const Spatial s = spatial(g, samples_rows_columns);
  for (const char* kind : kinds) CHECK_MESSAGE(s.cut.contains(kind), kind);
  const EquivalenceResult r = check_equivalence(plan_of(g, s.shardings), g, 2, 5);
  CHECK_MESSAGE(r.equivalent, r.detail);
}

TEST_CASE("networks of convolutions, cut by rows and columns with the halos that neighbours exchange, compute what they are") {
  check_spatial("inception-v3", {1, 2, 1}, {"conv2d", "pool2d", "batch_norm", "concat", "unary"});
  check_spatial("inception-v3", {2, 1, 2}, {"conv2d", "pool2d", "batch_norm", "concat", "unary"});
  check_spatial("inception-v3-proxy", {1, 2, 2}, {"conv2d", "pool2d", "concat"});
  check_spatial("resnext-50", {1, 2, 1}, {"conv2d", "pool2d", "batch_norm", "binary", "unary"});
  check_spatial("resnext-50-proxy", {1, 4, 1}, {"conv2d", "pool2d"});
  check_spatial("wide-resnet-250m", {2, 2, 2}, {"conv2d", "pool2d", "batch_norm", "binary", "unary"});
  check_spatial("vit-huge", {1, 2, 2}, {"conv2d"});
}

TEST_CASE("every kind of operator that a builtin has is tried under every sharding") {
  std::set<std::string_view> tried;
  for (const zoo::Exhibit& e : zoo::exhibits())
    for (const GraphNode& n : e.graph.nodes()) tried.insert(kind_name(n.op));
  for (const std::string& name : models::builtin_names()) {
    const Graph g = models::builtin(name, 1);
    for (const GraphNode& n : g.nodes()) CHECK_MESSAGE(tried.contains(kind_name(n.op)), name << ": " << kind_name(n.op));
  }
}

TEST_CASE("an empty map changes nothing") {
  const auto same = [](const Graph& g) {
    const SizeMap none;
    const Segments segments(std::span(&g, 1));
    return *rebuild(g, by(none, Together{.graph = g, .segments = segments})) == g;
  };
  for (const zoo::Exhibit& e : zoo::exhibits()) CHECK(same(e.graph));
  CHECK(same(gpt()));
}

}  // namespace
}  // namespace pcg
