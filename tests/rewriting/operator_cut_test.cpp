// The sharded forms of all operators: every loop that may be cut is found, cut and joined again, and nothing else changes.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "../pcg/operator_zoo.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "tests/oracles/evaluation.hpp"
#include "tests/oracles/operator_cut.hpp"

namespace rules::rewriting {
namespace {

using pcg::GraphTensorRef;
using pcg::NodeId;
using pcg::real;

std::vector<OperatorCut> free_cuts(const pcg::Pcg& g) {
  std::vector<OperatorCut> all = operator_cuts(g);
  std::erase_if(all, [](const OperatorCut& c) { return c.joins || c.loop < 0; });
  return all;
}
const std::string& loop_name(const pcg::Pcg& g, const OperatorCut& c) {
  return g.node(c.node).space->loops[static_cast<std::size_t>(c.loop)].name;
}
// Of the node of that name.
std::set<std::string> loops_cut(const pcg::Pcg& g, const std::string& name) {
  std::set<std::string> loops;
  for (const OperatorCut& c : free_cuts(g))
    if (g.node(c.node).name == name) loops.insert(loop_name(g, c));
  return loops;
}

// The nodes by name, and the names that they read: graphs that are equal but for the order of their nodes have equal ones.
std::map<std::string, std::pair<pcg::PcgNode, std::vector<std::string>>> by_name(const pcg::Pcg& g) {
  std::map<std::string, std::pair<pcg::PcgNode, std::vector<std::string>>> all;
  for (const pcg::PcgNode& n : g.nodes()) {
    auto& [node, reads] = all[n.name];
    node = n;
    for (pcg::TensorRef& t : node.inputs) {
      reads.push_back(g.node(t.node).name);
      t.node = NodeId(0U);
    }
  }
  return all;
}

// The graph keeps its meaning and shapes; `back` is the occurrence that undoes the cut.
void hold_against_evaluator(const OperatorCut& c, const pcg::Pcg& g, const Rewritten& r, int degree) {
  CHECK(pcg::evaluate(r.graph, 1, 3) == pcg::evaluate(g, 1, 3));
  CHECK(result_shapes(r.graph) == result_shapes(g));
  int undone = 0;
  for (const OperatorCut& back : operator_cuts(r.graph)) {
    if (!back.joins || back.degree != degree || r.graph.node(back.node).name != g.node(c.node).name || back.loop != c.loop) continue;
    const auto before = apply(back, r.graph, 0);
    REQUIRE_MESSAGE(before, before.refusal().why);
    CHECK((by_name(before->graph) == by_name(g)));
    ++undone;
  }
  CHECK(undone == 1);
}

TEST_CASE("every loop of every operator that may be cut is cut, and joined again to the graph that was") {
  for (const pcg::zoo::Exhibit& e : pcg::zoo::exhibits()) {
    const pcg::Pcg g = serial_pcg(e.graph);
    const std::vector<OperatorCut> found = free_cuts(g);
    const auto last = static_cast<std::uint32_t>(g.nodes().size() - 1);
    const pcg::IterationSpace& space = *g.nodes()[last].space;
    for (int l = 0; l < static_cast<int>(space.loops.size()); ++l) {
      const OperatorCut c{.node = NodeId(last), .loop = l};
      bool lawful = false;
      for (const int degree : {2, 3, 5}) {
        INFO(e.name, " ", loop_name(g, c), " ", degree);
        pcg::Sharding more = g.nodes()[last].sharding;
        more.degrees[static_cast<std::size_t>(l)] = degree;
        const bool may_be = !violation(space, more, g.whole_inputs(c.node), g.whole_outputs(c.node));
        lawful = lawful || may_be;
        const auto r = apply(c, g, degree);
        CHECK(static_cast<bool>(r) == may_be);
        if (r) hold_against_evaluator(c, g, *r, degree);
      }
      INFO(e.name, " ", loop_name(g, c));
      CHECK((std::ranges::count(found, c) == 1) == lawful);
    }
  }
}

// A Replicate behind every output, which somebody reads.
pcg::Pcg replicated(const pcg::Graph& g) {
  pcg::PcgBuilder b(g.name(), {{"all", true}});
  const pcg::Pcg whole = serial_pcg(g);
  for (const pcg::PcgNode& n : whole.nodes()) b.add(n.name, *n.operation(), n.inputs, n.sharding, 0);
  const NodeId last(static_cast<std::uint32_t>(g.nodes().size() - 1));
  for (int o = 0; o < static_cast<int>(b.node(last).outputs.size()); ++o)
    b.add(fmt::format("copies{}", o), pcg::Replicate{3}, {last, o}, 0);
  return std::move(b).build();
}

TEST_CASE("copies of a result are results of copies") {
  for (const pcg::zoo::Exhibit& e : pcg::zoo::exhibits()) {
    INFO(e.name);
    const pcg::Pcg g = replicated(e.graph);
    std::vector<OperatorCut> found = operator_cuts(g);
    std::erase_if(found, [](const OperatorCut& c) { return c.loop != kCopies; });
    REQUIRE(found.size() == 1);
    CHECK(!found[0].joins);
    const auto r = apply(found[0], g, 0);
    REQUIRE_MESSAGE(r, r.refusal().why);
    CHECK(pcg::evaluate(r->graph, 1, 3) == pcg::evaluate(g, 1, 3));
    CHECK(result_shapes(r->graph) == result_shapes(g));
    std::vector<OperatorCut> back = operator_cuts(r->graph);
    std::erase_if(back, [](const OperatorCut& c) { return c.loop != kCopies; });
    REQUIRE(back.size() == 1);
    CHECK(back[0].joins);
    const auto before = apply(back[0], r->graph, 0);
    REQUIRE_MESSAGE(before, before.refusal().why);
    CHECK(before->graph.nodes().size() == g.nodes().size());
    CHECK(pcg::evaluate(before->graph, 1, 3) == pcg::evaluate(g, 1, 3));
  }
}

// The last operator of a graph; the inputs that are chosen (-1: all) come through a Reduce.
std::optional<pcg::Pcg> reduced(const pcg::Graph& g, int through) {
  pcg::PcgBuilder b(g.name(), {{"all", true}});
  const pcg::Pcg whole = serial_pcg(g);
  const pcg::PcgNode& last = whole.nodes().back();
  std::vector<pcg::TensorRef> inputs;
  for (std::size_t i = 0; i < last.inputs.size(); ++i) {
    const pcg::PcgNode& source = whole.node(last.inputs[i].node);
    const bool sums = through < 0 || through == static_cast<int>(i);
    pcg::TensorShape shape = source.outputs[0].whole();
    if (sums && shape.element == pcg::Element::index) return std::nullopt;
    if (!sums) {
      inputs.push_back({b.add(source.name, pcg::Input{shape}, {}, source.sharding, 0), 0});
      continue;
    }
    shape.sizes.insert(shape.sizes.begin(), 2);
    pcg::Sharding cut{.degrees = std::vector<int>(shape.sizes.size(), 1)};
    cut.degrees[0] = 2;
    const NodeId parts = b.add(source.name, pcg::Input{shape}, {}, cut, 0);
    inputs.push_back({b.add(source.name + ".parts", pcg::Reduction{.axis = 0}, {{parts, 0}}, cut, 0), 0});
    inputs.back() = {b.add(source.name + ".parts.reduce", pcg::Reduce{2}, inputs.back(), 0), 0};
  }
  b.add(last.name, *last.operation(), inputs, last.sharding, 0);
  return std::move(b).build();
}

TEST_CASE("partial sums pass every operator that is linear in them") {
  int passed = 0;
  for (const pcg::zoo::Exhibit& e : pcg::zoo::exhibits()) {
    const pcg::IterationSpace& space = *e.graph.nodes().back().space;
    for (int through = -1; through < static_cast<int>(space.inputs.size()); ++through) {
      INFO(e.name, " ", through);
      const std::optional<pcg::Pcg> g = reduced(e.graph, through);
      if (!g) continue;
      std::vector<OperatorCut> found = operator_cuts(*g);
      const NodeId last(static_cast<std::uint32_t>(g->nodes().size() - 1));
      std::erase_if(found, [&](const OperatorCut& c) { return c.loop != kSums || c.node != last || c.through != through; });
      const bool alone = through >= 0 && !space.alone.empty() && space.alone[static_cast<std::size_t>(through)] != pcg::Passing::no;
      REQUIRE(found.size() == (space.parts.empty() && (through < 0 ? space.linear : alone) ? 1 : 0));
      if (found.empty()) continue;
      const auto r = apply(found[0], *g, 0);
      REQUIRE_MESSAGE(r, r.refusal().why);
      hold_against_evaluator(found[0], *g, *r, 2);
      ++passed;
    }
  }
  CHECK(passed > 20);
}

TEST_CASE("operators that are cut already are cut once more, and joined in part") {
  const std::vector<pcg::zoo::Exhibit> all = pcg::zoo::exhibits();
  int taken = 0, joined = 0;
  CHECK(rc::check([&] {
    const pcg::Graph& model = all[*rc::gen::inRange<std::size_t>(0, all.size())].graph;
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    pcg::Pcg g = random.below(2) == 0 ? serial_pcg(model) : pcg::parallelize(model, pcg::zoo::random_shardings(model, random));
    const auto meaning = pcg::evaluate(model, 5);
    const auto shapes = result_shapes(g);
    for (int step = 0; step < 8; ++step) {
      const std::vector<OperatorCut> cuts = operator_cuts(g);
      if (cuts.empty()) return;
      const OperatorCut c = cuts[random.below(cuts.size())];
      base::Attempt<Rewritten> next = apply(c, g, static_cast<int>(2 + random.below(2)));
      if (!next) continue;
      taken += 1;
      joined += c.joins ? 1 : 0;
      g = std::move(next->graph);
      RC_ASSERT(pcg::evaluate(g, 1, 5) == meaning);
      RC_ASSERT(result_shapes(g) == shapes);
    }
  }));
  MESSAGE(fmt::format("{} cuts, of which {} join", taken, joined));
  CHECK(taken > 200);
  CHECK(joined > 50);
}

TEST_CASE("a convolution of several channels to a group is cut by samples, by groups, and not by channels of a group") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({4, 12, 4, 4}));
  b.add("conv", pcg::Conv2d{.out = 24, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}, .groups = 6}, {x});
  const pcg::Pcg g = serial_pcg(std::move(b).build());
  CHECK(loops_cut(g, "conv") == std::set<std::string>{"b", "h", "n", "w"});
  for (const OperatorCut& c : free_cuts(g)) {
    if (loop_name(g, c) != "n") continue;
    const auto r = apply(c, g, 3);
    REQUIRE(r);
    // Its input is cut by groups, as are its kernels and its results: nothing is copied or added.
    for (const pcg::PcgNode& n : r->graph.nodes())
      if (const auto* op = n.parallel_operator())
        CHECK((std::holds_alternative<pcg::Partition>(*op) || std::holds_alternative<pcg::Combine>(*op)));
    CHECK(pcg::evaluate(r->graph, 1, 1) == pcg::evaluate(g, 1, 1));
    const auto four = apply(c, g, 4);
    REQUIRE(!four);
    CHECK(four.refusal().why == "conv: loop n of size 6 does not divide into 4");
  }
}

TEST_CASE("a Combine moves past an operator that no rule of terms speaks of") {
  pcg::GraphBuilder b("g");
  const GraphTensorRef x = b.input("x", real({4, 6, 4, 4}));
  const pcg::Unary relu{};
  b.add("pool", pcg::Pool2d{.rows = {.kernel = 0}, .columns = {.kernel = 0}}, {b.add("relu", relu, {x})});
  pcg::Pcg g = serial_pcg(std::move(b).build());
  const auto meaning = pcg::evaluate(g, 1, 1);
  for (const std::string name : {"relu", "pool"})
    for (const OperatorCut& c : free_cuts(g))
      if (g.node(c.node).name == name && loop_name(g, c) == "b") {
        g = apply(c, g, 2).value().graph;
        break;
      }
  const Rule joined = rule("r", "x: [n/d, c, h, w]", "partition[0, d](combine[0, d](x))", "x");
  const Matcher matcher(std::span(&joined, 1), g);
  REQUIRE(matcher.matches().size() == 1);
  const auto r = apply(joined, matcher.matches()[0], g, {});
  REQUIRE(r);
  std::vector<std::string> names;
  for (const pcg::PcgNode& n : r->graph.nodes()) names.push_back(n.name);
  CHECK(names == std::vector<std::string>{"x", "x.partition", "relu", "pool", "pool.combine"});
  CHECK(pcg::evaluate(r->graph, 1, 1) == meaning);
}

// Cuts the loop of an operator in 2; a Combine that it then reads through a Partition goes.
pcg::Pcg cut_in_two(const pcg::Pcg& g, const std::string& name, const std::string& loop) {
  const std::vector<OperatorCut> cuts = free_cuts(g);
  const auto here =
      std::ranges::find_if(cuts, [&](const OperatorCut& c) { return g.node(c.node).name == name && loop_name(g, c) == loop; });
  REQUIRE_MESSAGE(here != cuts.end(), name, " ", loop);
  pcg::Pcg cut = apply(*here, g, 2).value().graph;
  const std::vector<Rule> pairs{rule("rows", "x: [m/d, n]", "partition[0, d](combine[0, d](x))", "x"),
                                rule("columns", "x: [m, n/d]", "partition[1, d](combine[1, d](x))", "x")};
  Matcher matcher(pairs, cut);
  while (!matcher.matches().empty()) {
    const Match m = matcher.matches().front();
    cut = apply(pairs[m.rule], m, cut, {}).value().graph;
    matcher.restart(cut);
  }
  return cut;
}

TEST_CASE("attention of two sequences with a bias is cut by heads, from its projections to the one behind") {
  pcg::GraphBuilder b("cross");
  const GraphTensorRef x = b.input("x", real({2, 4, 8})), y = b.input("y", real({2, 6, 8}));
  const GraphTensorRef q = b.add("q", pcg::Linear{.out = 8}, {x});
  const GraphTensorRef k = b.add("k", pcg::Linear{.out = 8}, {y}), v = b.add("v", pcg::Linear{.out = 8}, {y});
  const pcg::Attention op{.heads = 4, .kv_heads = 4, .packed = false, .has_bias = true};
  b.add("out", pcg::Linear{.out = 8}, {b.add("core", op, {q, k, v})});
  const pcg::Graph model = std::move(b).build();
  pcg::Pcg g = serial_pcg(model);
  for (const std::string name : {"q", "k", "v"}) g = cut_in_two(g, name, "n");
  g = cut_in_two(cut_in_two(g, "core", "heads"), "out", "k");
  CHECK(pcg::evaluate(g, 1, 1) == pcg::evaluate(model, 1));
  std::string moved;  // all movements but those of weights
  for (const pcg::PcgNode& n : g.nodes())
    if (n.parallel_operator() && !g.node(n.inputs[0].node).is_weight()) moved += n.name + " ";
  CHECK(moved == "x.replicate y.replicate y.replicate2 out.reduce ");
}

// The loop of samples: that of the dim along which an input is combined, where one is; else the first.
int samples_loop(const pcg::Pcg& g, const pcg::PcgNode& n) {
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (const auto* op = g.node(n.inputs[i].node).parallel_operator())
      if (const auto* c = std::get_if<pcg::Combine>(op)) return n.space->inputs[i][static_cast<std::size_t>(c->dim)];
  return pcg::find_loop(*n.space, "b");
}

// Every operator is cut by samples, then every pair of a Combine and a Partition behind it goes.
pcg::Pcg cut_by_samples(pcg::Pcg g) {
  for (std::uint32_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::PcgNode& node = g.nodes()[n];
    if (!node.computes() || node.sharding.points() > 1) continue;
    auto r = apply(OperatorCut{.node = NodeId(n), .loop = samples_loop(g, node)}, g, 4);
    if (r) g = std::move(r->graph);
  }
  const Rule cancel = rule("pair", "x: [n/d]", "partition[0, d](combine[0, d](x))", "x");
  Matcher matcher(std::span(&cancel, 1), g);
  while (!matcher.matches().empty()) {
    const Match m = matcher.matches().front();
    g = apply(cancel, m, g, {}).value().graph;
    matcher.restart(g);
  }
  return g;
}

int combines(const pcg::Pcg& g) {
  return static_cast<int>(std::ranges::count_if(g.nodes(), [](const pcg::PcgNode& n) {
    return n.parallel_operator() && std::holds_alternative<pcg::Combine>(*n.parallel_operator());
  }));
}

TEST_CASE("data parallelism is reached by rewriting: no Combine is left but those of results") {
  for (const std::string name : {"resnext-50", "t5-large", "moe-380m", "vit-huge", "inception-v3-proxy", "dlrm"}) {
    const pcg::Graph model = pcg::models::builtin(name, 8);
    pcg::Plan plan;
    plan.pcg = cut_by_samples(serial_pcg(model));
    CHECK_MESSAGE(combines(plan.pcg) == static_cast<int>(plan.pcg.results().size()), name);
    for (const pcg::PcgNode& n : plan.pcg.nodes())
      if (n.computes()) CHECK_MESSAGE(n.sharding.points() == 4, name, " ", n.name);
    const pcg::EquivalenceResult same = check_equivalence(plan, model, 1, 1);
    CHECK_MESSAGE(same.equivalent, name, ": ", same.detail);
  }
}

TEST_CASE("models that are cut operator by operator compute what they computed") {
  for (const std::string name : {"resnext-50", "t5-large", "moe-380m"}) {
    const pcg::Graph model = pcg::models::builtin(name, 8);
    pcg::Plan plan;
    const pcg::Pcg whole = plan.pcg = serial_pcg(model);
    base::Random random(7);
    int cut = 0;
    for (const pcg::PcgNode& n : whole.nodes()) {
      if (!n.computes() || random.below(4) > 0) continue;
      std::vector<OperatorCut> here = free_cuts(plan.pcg);
      std::erase_if(here, [&](const OperatorCut& c) { return plan.pcg.node(c.node).name != n.name; });
      REQUIRE_MESSAGE(!here.empty(), name, " ", n.name);
      auto r = apply(here[random.below(here.size())], plan.pcg, 2);
      if (!r) continue;
      plan.pcg = std::move(r->graph);
      ++cut;
    }
    const pcg::EquivalenceResult same = check_equivalence(plan, model, 1, 1);
    CHECK_MESSAGE(same.equivalent, name, ": ", same.detail);
    MESSAGE(fmt::format("{}: {} operators cut", name, cut));
    CHECK(cut > 20);
  }
}

}  // namespace
}  // namespace rules::rewriting
