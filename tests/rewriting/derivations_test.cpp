// Parallelizations that people found, as sequences of small rules: each walk begins at a serial graph, and after each step the graph
// computes what it computed before.
#include <doctest/doctest.h>

#include <algorithm>

#include "planted.hpp"
#include "rules.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

using pcg::Activation;
using pcg::GraphTensorRef;
using pcg::NodeId;
using pcg::ParallelOperator;
using pcg::real;

// A graph on its way. Rules are of the catalogue; degrees are 2.
class Walk {
 public:
  explicit Walk(pcg::Graph start) : start_(std::move(start)), pcg_(serial_pcg(start_)) {}

  // The occurrence that has this node, of the rule's source; the only one, or the one with this row.
  Walk& step(const std::string& name, const std::string& node, int row = -1) {
    const Rule& rule = catalogue().at(name);
    INFO(name, " at ", node);
    const Matcher matcher(std::span(&rule, 1), pcg_);
    std::vector<Match> found;
    for (const Match& m : matcher.matches())
      if (std::ranges::any_of(m.nodes, [&](NodeId n) { return pcg_.node(n).name == node; }) && (row < 0 || m.row == row))
        found.push_back(m);
    REQUIRE(!found.empty());
    return take(rule, found.front());
  }
  // A rule that holds at every tensor.
  Walk& at(const std::string& name, const std::string& node, int row = 0, const std::vector<std::pair<char, std::int64_t>>& sizes = {}) {
    INFO(name, " at ", node);
    LetterSizes chosen{};
    for (const auto& [letter, size] : sizes) chosen[index_of(letter)] = size;
    const Rule& rule = catalogue().at(name);
    return take(rule, match_at(0, rule, pcg_, {find(node), 0}, row, chosen));
  }

  // "x -> x.replicate; ..." : kinds and inputs of everything but sources, in order.
  [[nodiscard]] std::string text() const {
    std::string result;
    for (const pcg::PcgNode& n : pcg_.nodes()) {
      if (n.is_source()) continue;
      result += (result.empty() ? "" : "; ") + n.name + " = " + kind(n) + "(";
      for (std::size_t i = 0; i < n.inputs.size(); ++i) result += (i == 0 ? "" : ", ") + pcg_.node(n.inputs[i].node).name;
      result += ")";
    }
    return result;
  }
  [[nodiscard]] std::string layout(const std::string& node) const { return pcg::to_text(pcg_.node(find(node)).outputs[0]); }
  [[nodiscard]] const pcg::Pcg& graph() const { return pcg_; }

 private:
  Walk& take(const Rule& rule, const Match& match) {
    const std::vector<int> twos{2, 2};
    base::Attempt<Rewritten> next = apply(rule, match, pcg_, twos);
    INFO((next ? "applied" : next.refusal().why));
    REQUIRE(next);
    pcg_ = std::move(next->graph);
    for (std::uint64_t seed : {1U, 2U}) CHECK(pcg::evaluate(pcg_, 1, seed) == pcg::evaluate(start_, seed));
    return *this;
  }
  [[nodiscard]] NodeId find(const std::string& name) const {
    for (std::size_t n = 0; n < pcg_.nodes().size(); ++n)
      if (pcg_.nodes()[n].name == name) return NodeId(n);
    FAIL("no node ", name);
    return {};
  }
  static std::string kind(const pcg::PcgNode& n) {
    if (const ParallelOperator* op = n.parallel_operator()) {
      if (const auto* p = std::get_if<pcg::Partition>(op)) return "partition" + std::to_string(p->dim);
      if (const auto* c = std::get_if<pcg::Combine>(op)) return "combine" + std::to_string(c->dim);
      return std::string(pcg::kind_name(*op));
    }
    return std::string(pcg::kind_name(*n.operation()));
  }

  pcg::Graph start_;
  pcg::Pcg pcg_;
};

TEST_CASE("Megatron's MLP (Unity, figure 10; Shoeybi et al., section 3): columns, then rows, one reduction behind") {
  pcg::GraphBuilder b("mlp");
  const GraphTensorRef x = b.input("x", real({4, 6, 8}));
  const GraphTensorRef up = b.add("up", pcg::Linear{.out = 12}, {x});
  b.add("down", pcg::Linear{.out = 8}, {b.add("act", pcg::Unary{.kind = pcg::Unary::Kind::gelu}, {up})});
  Walk walk(std::move(b).build());
  walk.at("A1 columns'", "up").step("B2'", "up").step("E2", "act").step("B7", "down");
  CHECK(walk.text() ==
        "x.replicate = replicate(x); up.weight.partition = partition1(up.weight); up = linear(x.replicate, up.weight.partition); "
        "act = unary(up); down.weight.partition = partition0(down.weight); down = linear(act, down.weight.partition); "
        "down.reduce = reduce(down)");
  CHECK(walk.layout("act") == "[4, 6, 12/2]");
  CHECK(walk.layout("down") == "[4, 6, 8] sum 2");
}

TEST_CASE("Megatron's attention (Unity, figure 10): heads cut from the projection of queries, keys and values to the one behind") {
  pcg::GraphBuilder b("attention");
  const GraphTensorRef x = b.input("x", real({2, 4, 8}));
  const GraphTensorRef core =
      b.add("core", pcg::Attention{.heads = 4, .kv_heads = 4, .causal = true}, {b.add("qkv", pcg::Linear{.out = 24}, {x})});
  b.add("out", pcg::Linear{.out = 8}, {core});
  Walk walk(std::move(b).build());
  walk.at("A1 columns'", "qkv").step("B2'", "qkv").step("N2", "core").step("B7", "out");
  CHECK(walk.text() ==
        "x.replicate = replicate(x); qkv.weight.partition = partition1(qkv.weight); qkv = linear(x.replicate, qkv.weight.partition); "
        "core = attention(qkv); out.weight.partition = partition0(out.weight); out = linear(core, out.weight.partition); "
        "out.reduce = reduce(out)");
  CHECK(walk.layout("core") == "[2, 4, 8/2]");
}

TEST_CASE("heads that share keys are cut between the groups that share them") {
  pcg::GraphBuilder b("grouped");
  const GraphTensorRef qkv = b.add("qkv", pcg::Linear{.out = 32}, {b.input("x", real({2, 4, 8}))});
  b.add("core", pcg::Attention{.heads = 4, .kv_heads = 2, .causal = true}, {qkv});
  Walk walk(std::move(b).build());
  walk.at("A1 columns'", "qkv").step("B2'", "qkv").step("N2", "core");
  CHECK(walk.text() ==
        "x.replicate = replicate(x); qkv.weight.partition = partition1(qkv.weight); qkv = linear(x.replicate, qkv.weight.partition); "
        "core = attention(qkv); core.combine = combine2(core)");
  CHECK(walk.layout("core") == "[2, 4, 16/2]");
}

TEST_CASE("reduction-parallel Linear: the inner dim is cut") {
  pcg::GraphBuilder b("linear");
  b.add("y", pcg::Linear{.out = 6}, {b.input("x", real({4, 8}))});
  Walk walk(std::move(b).build());
  walk.step("B3'", "y");
  CHECK(walk.text() ==
        "x.partition = partition1(x); y.weight.partition = partition0(y.weight); y = linear(x.partition, y.weight.partition); "
        "y.reduce = reduce(y)");
}

TEST_CASE("figure 11a: ReLU cut by rows of the image") {
  pcg::GraphBuilder b("relu");
  b.add("y", pcg::Unary{}, {b.input("x", real({2, 3, 4, 5}))});
  Walk walk(std::move(b).build());
  walk.at("A1 rows'", "y", 2).step("E1 rows'", "y", 2);
  CHECK(walk.text() == "x.partition = partition2(x); y = unary(x.partition); y.partition.combine = combine2(y)");
  CHECK(walk.layout("y") == "[2, 3, 4/2, 5]");
}

TEST_CASE("figure 11b: an addition is the reduction of summands") {
  pcg::GraphBuilder b("add");
  b.add("z", pcg::Binary{}, {b.input("x", real({4, 6})), b.input("y", real({4, 6}))});
  Walk walk(std::move(b).build());
  walk.step("F6", "z");
  CHECK(walk.text() == "z = summands(x, y); z.reduce = reduce(z)");
  CHECK(walk.layout("z") == "[4, 6] sum 2");
}

TEST_CASE("figure 16a: a fused ReLU is taken apart, so that its product may be cut by the inner dim and added up on all devices at once") {
  pcg::GraphBuilder b("layers");
  const GraphTensorRef y = b.add("y", pcg::Linear{.out = 6, .activation = Activation::relu}, {b.input("x", real({4, 8}))});
  b.add("z", pcg::Linear{.out = 10, .activation = Activation::relu}, {y});
  Walk walk(std::move(b).build());
  walk.step("C1", "y").step("B3'", "y").step("C1", "z").at("A1 columns'", "z").step("B2'", "z").step("E3'", "y.unary");
  CHECK(walk.text() ==
        "x.partition = partition1(x); y.weight.partition = partition0(y.weight); y = linear(x.partition, y.weight.partition); "
        "y.reduce = reduce(y); y.reduce.replicate = replicate(y.reduce); y.unary = unary(y.reduce.replicate); "
        "z.weight.partition = partition1(z.weight); z = linear(y.unary, z.weight.partition); z.partition.combine = combine1(z); "
        "z.unary = unary(z.partition.combine)");
}

TEST_CASE("figure 16b: the concatenation in front of a product goes; each part meets its rows of the weight") {
  pcg::GraphBuilder b("dlrm");
  const GraphTensorRef c = b.add("c", pcg::Concat{.axis = 1}, {b.input("x", real({4, 6})), b.input("y", real({4, 2}))});
  b.add("z", pcg::Linear{.out = 10}, {c});
  Walk walk(std::move(b).build());
  walk.at("split and concat'", "z.weight", 0, {{'k', 6}}).step("T20'", "z").step("F6", "z.binary");
  CHECK(walk.text() ==
        "z.weight.split = split(z.weight); z = linear(x, z.weight.split); y.linear = linear(y, z.weight.split); "
        "z.binary = summands(z, y.linear); z.binary.reduce = reduce(z.binary)");
}

TEST_CASE("figure 16c: a bag becomes lookups and their sum; the lookups are cut within bags, the sum leaves partial ones") {
  pcg::GraphBuilder b("bag");
  b.add("e", pcg::EmbeddingBag{.vocabulary = 12, .width = 6}, {b.input("i", {.sizes = {4, 2}, .element = pcg::Element::index})});
  Walk walk(std::move(b).build());
  walk.step("L5", "e");
  CHECK(walk.text() == "i.embedding = embedding(i, e.weight); e = reduction(i.embedding)");
  walk.step("L1 bag'", "i.embedding").step("M2", "e");
  CHECK(walk.text() ==
        "i.partition = partition1(i); e.weight.replicate = replicate(e.weight); i.embedding = embedding(i.partition, "
        "e.weight.replicate); e = reduction(i.embedding); e.reduce = reduce(e)");
}

TEST_CASE("a bag is the sum of its parts, each looked up on its own") {
  pcg::GraphBuilder b("bag");
  b.add("e", pcg::EmbeddingBag{.vocabulary = 12, .width = 6}, {b.input("i", {.sizes = {4, 2}, .element = pcg::Element::index})});
  Walk walk(std::move(b).build());
  walk.step("L4'", "e");
  CHECK(walk.text() ==
        "i.partition = partition1(i); e.weight.replicate = replicate(e.weight); e = embedding_bag(i.partition, "
        "e.weight.replicate); e.reduce = reduce(e)");
}

TEST_CASE("partial sums pass a product, and are added up once behind it (Unity, the law of Reduce and Matmul)") {
  pcg::GraphBuilder b("layers");
  const GraphTensorRef y = b.add("y", pcg::Linear{.out = 6}, {b.input("x", real({4, 8}))});
  b.add("z", pcg::Linear{.out = 10}, {y});
  Walk walk(std::move(b).build());
  walk.step("B3'", "y").step("B5", "z");
  CHECK(walk.text() ==
        "x.partition = partition1(x); y.weight.partition = partition0(y.weight); y = linear(x.partition, y.weight.partition); "
        "z.weight.replicate = replicate(z.weight); z = linear(y, z.weight.replicate); z.reduce = reduce(z)");
  CHECK(walk.layout("z") == "[4, 10] sum 2");
}

TEST_CASE("a convolution is cut by rows of the image") {
  pcg::GraphBuilder b("conv");
  b.add("y", pcg::Conv2d{.out = 4, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}},
        {b.input("x", real({2, 3, 4, 5}))});
  Walk walk(std::move(b).build());
  walk.at("A1 image'", "y", 2).step("I5'", "y");
  CHECK(walk.text() ==
        "x.partition = partition2(x); y.weight.replicate = replicate(y.weight); y = conv2d(x.partition, y.weight.replicate); "
        "y.partition.combine = combine2(y)");
}

TEST_CASE("an Inception module: its 1x1 convolutions of one input become one, whose kernels are one concat of three") {
  pcg::GraphBuilder b("module");
  const GraphTensorRef x = b.input("x", real({2, 4, 6, 6}));
  const auto conv = [&](const std::string& name, GraphTensorRef in, std::int64_t out, int kernel) {
    const int pad = kernel / 2;
    const Activation f = Activation::relu;
    return b.add(
        name,
        pcg::Conv2d{.out = out, .rows = {.kernel = kernel, .padding = pad}, .columns = {.kernel = kernel, .padding = pad}, .activation = f},
        {in});
  };
  const GraphTensorRef one = conv("one", x, 4, 1), five = conv("five2", conv("five1", x, 2, 1), 4, 5);
  const GraphTensorRef three = conv("three2", conv("three1", x, 6, 1), 4, 3);
  const GraphTensorRef pool = b.add("pool", pcg::Pool2d{.rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}}, {x});
  b.add("module", pcg::Concat{.axis = 1}, {one, five, three, conv("pooled", pool, 2, 1)});
  Walk walk(std::move(b).build());
  walk.step("T24 split", "five1").step("T24 split", "three1");
  CHECK(walk.text() ==
        "one.weight.concat.concat = concat(one.weight, five1.weight, three1.weight); one = conv2d(x, one.weight.concat.concat); "
        "three1 = split(one); five1 = split(three1); five2 = conv2d(five1, five2.weight); three2 = conv2d(three1, three2.weight); "
        "pool = pool2d(x); pooled = conv2d(pool, pooled.weight); module = concat(five1, five2, three2, pooled)");
}

TEST_CASE("biased projections of one input become one layer, whose kernels and biases are concats of three") {
  pcg::GraphBuilder b("projections");
  const GraphTensorRef x = b.input("x", real({2, 4, 8}));
  std::vector<GraphTensorRef> all;
  for (const char* name : {"q", "k", "v"}) all.push_back(b.add(name, pcg::Linear{.out = 8, .has_bias = true}, {x}));
  b.add("core", pcg::Attention{.heads = 4, .kv_heads = 4, .packed = false}, all);
  Walk walk(std::move(b).build());
  walk.step("T28 biased split", "k").step("T28 biased split", "v");
  CHECK(walk.text() ==
        "q.weight.concat.concat = concat(q.weight, k.weight, v.weight); q.bias.concat.concat = concat(q.bias, k.bias, v.bias); "
        "q = linear(x, q.weight.concat.concat, q.bias.concat.concat); v = split(q); k = split(v); core = attention(k, k, v)");
}

TEST_CASE("convolutions of one input, put together by one concat: two neighbours become one, then all do") {
  pcg::GraphBuilder b("branches");
  const GraphTensorRef x = b.input("x", real({2, 4, 6, 6}));
  std::vector<GraphTensorRef> all;
  for (const char* name : {"a", "b", "c", "d"}) all.push_back(b.add(name, pcg::Conv2d{.out = 4}, {x}));
  b.add("y", pcg::Unary{}, {b.add("all", pcg::Concat{.axis = 1}, all)});
  Walk walk(std::move(b).build());
  walk.step("T24", "b").step("T24", "d").step("T24", "all");
  CHECK(walk.text() == "all = concat(a.weight, b.weight, c.weight, d.weight); a = conv2d(x, all); y = unary(a)");
}

TEST_CASE("branches that were cut one by one are combined behind their concat") {
  pcg::GraphBuilder b("branches");
  std::vector<GraphTensorRef> all;
  for (const std::string name : {"a", "b", "c", "d"}) all.push_back(b.add(name, pcg::Unary{}, {b.input(name + ".in", real({4, 6}))}));
  b.add("all", pcg::Concat{.axis = 1}, all);
  Walk walk(std::move(b).build());
  for (const std::string name : {"a", "b", "c", "d"}) walk.at("A1 rows'", name).step("E1 rows'", name);
  for (int i = 0; i < 3; ++i) walk.step("G1 combine", "all");
  CHECK(walk.text() ==
        "a.in.partition = partition0(a.in); a = unary(a.in.partition); b.in.partition = partition0(b.in); b = unary(b.in.partition); "
        "c.in.partition = partition0(c.in); c = unary(c.in.partition); d.in.partition = partition0(d.in); d = unary(d.in.partition); "
        "all = concat(a, b, c, d); all.combine = combine0(all)");
}

TEST_CASE("a concat of many partitions is a partition of the concat, and back") {
  pcg::GraphBuilder b("parts");
  std::vector<GraphTensorRef> all;
  for (const char* name : {"a", "b", "c"}) all.push_back(b.input(name, real({4, 6})));
  b.add("y", pcg::Unary{}, {b.add("all", pcg::Concat{.axis = 1}, all)});
  Walk walk(std::move(b).build());
  walk.at("A1 rows'", "y").step("E1 rows'", "y").step("G1'", "all").step("G1'", "all.part");
  CHECK(walk.text() ==
        "a.partition = partition0(a); b.partition = partition0(b); c.partition = partition0(c); "
        "all = concat(a.partition, b.partition, c.partition); y = unary(all); y.partition.combine = combine0(y)");
  walk.step("G1", "all").step("G1", "all");
  CHECK(walk.text() ==
        "all = concat(a, b, c); all.partition = partition0(all); y = unary(all.partition); y.partition.combine = combine0(y)");
}

}  // namespace
}  // namespace rules::rewriting
