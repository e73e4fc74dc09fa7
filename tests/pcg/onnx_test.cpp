// ONNX models as PyTorch exports them: what they become, counted by hand.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/families/transformer.hpp"
#include "tests/about.hpp"
#include "tests/pcg/onnx_reading.hpp"

using namespace onnx_test;

namespace {

struct EncoderOptions {
  bool old_norms = false;    // written out, as before opset 17
  bool fixed_batch = false;  // sizes of reshapes are constants, and the batch is among them
  bool causal = false;       // a mask of numbers is added to the scores
  bool padding = false;      // a mask that is an input
  std::int64_t batch = 2, sequence = 6, hidden = 16, heads = 4, ffn = 32;
};

// One layer of an encoder as transformers' BERT has it, without dropout: post norms, GELU by erf, a bias everywhere.
class Encoder {
 public:
  explicit Encoder(const EncoderOptions& o) : o_(o), m_(o.old_norms ? 13 : 17) {}

  OnnxModel make() {
    m_.input("x", {o_.fixed_batch ? test::OnnxSize(o_.batch) : test::OnnxSize("batch"), o_.sequence, o_.hidden});
    const std::string attended = linear("attention/output", attention("x"), o_.hidden, o_.hidden);
    const std::string x = norm("attention/norm", add("attention/Residual", attended, "x"));
    const std::string up = gelu("intermediate", linear("intermediate", x, o_.hidden, o_.ffn));
    norm("output/norm", add("output/Residual", linear("output", up, o_.ffn, o_.hidden), x));
    m_.ends("y", {"batch", o_.sequence, o_.hidden});
    return m_;
  }

 private:
  std::string path(const std::string& name) { return "/encoder/layer.0/" + name; }
  std::string add(const std::string& name, const std::string& a, const std::string& b) { return m_.node(path(name), "Add", {a, b}); }
  std::string linear(const std::string& name, const std::string& x, std::int64_t in, std::int64_t out) {
    const std::string y = m_.node(path(name + "/MatMul"), "MatMul", {x, m_.weight("onnx::MatMul_" + name, {in, out})});
    return m_.node(path(name + "/Add"), "Add", {m_.weight(name + ".bias", {out}), y});
  }
  std::string heads(const std::string& name, const std::string& x, const Sizes& order) {
    const std::int64_t d = o_.hidden / o_.heads;
    std::string sizes;
    if (o_.fixed_batch) {
      sizes = m_.integers(name + ".sizes", {o_.batch, o_.sequence, o_.heads, d});
    } else {
      const std::string all = m_.node(path(name + "/Shape"), "Shape", {x});
      const std::string first = m_.node(path(name + "/Gather"), "Gather", {all, m_.integers(name + ".zero", {0}, true)});
      const std::string one = m_.node(path(name + "/Unsqueeze"), "Unsqueeze", {first, m_.integers(name + ".axes", {0})});
      sizes = m_.node(path(name + "/Concat"), "Concat", {one, m_.integers(name + ".rest", {o_.sequence, o_.heads, d})});
      m_.with("axis", 0);
    }
    const std::string apart = m_.node(path(name + "/Reshape"), "Reshape", {x, sizes});
    const std::string y = m_.node(path(name + "/Transpose"), "Transpose", {apart});
    m_.with("perm", order);
    return y;
  }
  std::string attention(const std::string& x) {
    const std::string q = heads("query", linear("query", x, o_.hidden, o_.hidden), {0, 2, 1, 3});
    const std::string k = heads("key", linear("key", x, o_.hidden, o_.hidden), {0, 2, 3, 1});
    const std::string v = heads("value", linear("value", x, o_.hidden, o_.hidden), {0, 2, 1, 3});
    const std::string product = m_.node(path("MatMul"), "MatMul", {q, k});
    std::string scores = m_.node(path("Div"), "Div", {product, m_.real("root", 2)});
    if (o_.causal) {
      std::vector<float> mask;
      for (std::int64_t i = 0; i < o_.sequence; ++i)
        for (std::int64_t j = 0; j < o_.sequence; ++j) mask.push_back(j <= i ? 0 : -3.4e38F);
      scores = add("Mask", scores, m_.reals("mask", {1, 1, o_.sequence, o_.sequence}, mask));
    }
    if (o_.padding) {
      m_.input("attention_mask", {"batch", o_.sequence}, onnx::TensorProto::INT64);
      const std::string wide = m_.node("/Unsqueeze", "Unsqueeze", {"attention_mask", m_.integers("wide", {1, 2})});
      const std::string number = m_.node("/Cast", "Cast", {wide});
      m_.with("to", 1);
      const std::string shut = m_.node("/Sub", "Sub", {m_.real("one", 1), number});
      scores = add("Mask", scores, m_.node("/Mul", "Mul", {shut, m_.real("least", -3.4e38F)}));
    }
    const std::string weights = m_.node(path("Softmax"), "Softmax", {scores});
    m_.with("axis", -1);
    const std::string weighted = m_.node(path("MatMul_1"), "MatMul", {weights, v});
    const std::string together = m_.node(path("Transpose_3"), "Transpose", {weighted});
    m_.with("perm", Sizes{0, 2, 1, 3});
    if (o_.fixed_batch) return m_.node(path("Reshape_3"), "Reshape", {together, m_.integers("merged", {o_.batch, o_.sequence, o_.hidden})});
    return m_.node(path("Reshape_3"), "Reshape", {together, m_.integers("merged", {0, 0, -1})});
  }
  std::string gelu(const std::string& name, const std::string& x) {
    const auto path_of = [&](const char* what) { return path(name + "/" + what); };
    const std::string erf = m_.node(path_of("Erf"), "Erf", {m_.node(path_of("Div"), "Div", {x, m_.real("sqrt2", 1.4142135F)})});
    const std::string opened = m_.node(path_of("Mul"), "Mul", {x, m_.node(path_of("Add_1"), "Add", {erf, m_.real("unit", 1)})});
    return m_.node(path_of("Mul_1"), "Mul", {opened, m_.real("half", 0.5F)});
  }
  std::string norm(const std::string& name, const std::string& x) {
    const auto path_of = [&](const char* what) { return path(name + "/" + what); };
    const std::string gain = m_.weight(name + ".weight", {o_.hidden}), bias = m_.weight(name + ".bias", {o_.hidden});
    if (!o_.old_norms) {
      const std::string y = m_.node(path_of("LayerNormalization"), "LayerNormalization", {x, gain, bias});
      m_.with("axis", -1).with("epsilon", 1e-12F);
      return y;
    }
    const auto mean = [&](const char* what, const std::string& of) {
      const std::string y = m_.node(path_of(what), "ReduceMean", {of});
      m_.with("axes", Sizes{-1}).with("keepdims", 1);
      return y;
    };
    const std::string d = m_.node(path_of("Sub"), "Sub", {x, mean("ReduceMean", x)});
    const std::string square = m_.node(path_of("Pow"), "Pow", {d, m_.real(name + ".two", 2)});
    const std::string variance = m_.node(path_of("Add"), "Add", {mean("ReduceMean_1", square), m_.real(name + ".eps", 1e-12F)});
    const std::string y = m_.node(path_of("Div"), "Div", {d, m_.node(path_of("Sqrt"), "Sqrt", {variance})});
    return m_.node(path_of("Add_1"), "Add", {m_.node(path_of("Mul"), "Mul", {y, gain}), bias});
  }

  EncoderOptions o_;
  OnnxModel m_;
};

}  // namespace

TEST_CASE("an MLP is the builtin one") {
  const pcg::Graph g = load(mnist(), 32), builtin = pcg::models::builtin("mlp-mnist", 32);
  CHECK(structure(g) == structure(builtin));
  CHECK(g.parameters() == 784 * 512 + 512 * 10);
  // Two products of 32 samples, two operations each, and a relu, a softmax of 32 x 10.
  CHECK(g.forward_flops() == builtin.forward_flops());
  CHECK(g.name() == "model");
  std::vector<std::string> blocks;
  for (const pcg::Block& b : g.blocks()) blocks.push_back(b.name);
  CHECK(blocks == std::vector<std::string>{"0", "2"});
  CHECK(notes(mnist()) ==
        std::vector<std::string>{
            "the loss of the output \"logits\" is the cross entropy with labels, which training needs and the file does not have"});
}

TEST_CASE("a residual block of convolutions, norms and pools") {
  const pcg::Graph g = load(residual(), 4);
  CHECK(kinds(g) == "input conv2d batch_norm unary conv2d batch_norm binary unary pool2d pool2d reshape linear input cross_entropy");
  // Two kernels of 16 x 16 x 3 x 3, two gains and two biases of 16, a head of 16 x 10 and 10. Running means are not trained.
  CHECK(g.parameters() == 2 * 2304 + 4 * 16 + 170);
  // Products alone: 4 samples x 64 places x 2304 x 2 operations, twice; 4 x 160 x 2.
  CHECK(g.forward_flops().value() == test::about(2 * 4 * 64 * 2304 * 2 + 4 * 160 * 2, 0.01));
  const auto pools = of_kind<pcg::Pool2d>(g);
  CHECK(pools[0]->outputs[0] == pcg::real({4, 16, 4, 4}));
  CHECK(pools[1]->outputs[0] == pcg::real({4, 16, 1, 1}));
  CHECK(of_kind<pcg::Reshape>(g)[0]->outputs[0] == pcg::real({4, 16}));
  CHECK(only<pcg::Reshape>(g).sizes == Sizes{0, -1});
}

TEST_CASE("a transformer layer, however its norms and sizes are written") {
  for (const bool old_norms : {false, true})
    for (const bool fixed : {false, true}) {
      CAPTURE(old_norms);
      CAPTURE(fixed);
      const OnnxModel model = Encoder({.old_norms = old_norms, .fixed_batch = fixed}).make();
      const pcg::Graph g = load(model, 8);
      CHECK(kinds(g) ==
            "input linear linear linear attention linear binary layer_norm linear unary linear binary layer_norm input squared_error");
      // Four products of 16 x 16 and one of 16 x 32 and back, with biases; two norms.
      CHECK(g.parameters() == 4 * (256 + 16) + (512 + 32) + (512 + 16) + 4 * 16);
      const auto attention = only<pcg::Attention>(g);
      CHECK(attention.heads == 4);
      CHECK_FALSE(attention.packed);
      CHECK_FALSE(attention.causal);
      CHECK(only<pcg::Unary>(g).kind == pcg::Unary::Kind::gelu);
      CHECK(g.batch() == 8);
      CHECK(of_kind<pcg::Attention>(g)[0]->outputs[0] == pcg::real({8, 6, 16}));
      REQUIRE(g.blocks().size() == 1);
      CHECK(g.blocks()[0].name == "encoder.layer.0");
    }
}

TEST_CASE("a transformer layer costs what the builtin one does") {
  // 96 tokens instead of the embedding, 2 layers less one: what a layer adds is the difference of two builtins.
  pcg::models::TransformerConfig c{
      .layers = 1, .hidden = 16, .heads = 4, .ffn = 32, .vocab = 32, .sequence_length = 6, .causal = false, .post_norm = true};
  c.attention = pcg::models::AttentionKind::unfused;
  c.dropout = 0;
  const pcg::Graph one = pcg::models::transformer(c, 8);
  c.layers = 2;
  const pcg::Graph two = pcg::models::transformer(c, 8);
  const pcg::Graph g = load(Encoder({}).make(), 8);
  CHECK(g.parameters() == two.parameters() - one.parameters());
  // SeparateKernels from the loss, which has 2 or so operations for each of 8 x 6 x 16 numbers.
  CHECK(g.forward_flops().value() == test::about((two.forward_flops() - one.forward_flops()).value(), 0.01));
}

TEST_CASE("masks of scores") {
  const OnnxModel causal = Encoder({.causal = true}).make(), padded = Encoder({.padding = true}).make();
  CHECK(only<pcg::Attention>(load(causal, 4)).causal);
  CHECK(std::ranges::count(notes(causal), "causal masks of attention are part of it") == 1);
  CHECK_FALSE(only<pcg::Attention>(load(padded, 4)).causal);
  CHECK(std::ranges::count(notes(padded), "masks of scores that are made of inputs and constants are left out: they cost nothing here") ==
        1);
  // Its input is gone with it.
  CHECK(of_kind<pcg::Input>(load(padded, 4)).size() == 2);
}

TEST_CASE("attention that something else looks into stays products and a softmax") {
  OnnxModel model = Encoder({}).make();
  model.output("/encoder/layer.0/Softmax_output_0");
  const pcg::Graph g = load(model, 4);
  CHECK(of_kind<pcg::Attention>(g).empty());
  CHECK(of_kind<pcg::BatchMatmul>(g).size() == 2);
  CHECK(of_kind<pcg::SquaredError>(g).size() == 2);
  CHECK(of_kind<pcg::Attention>(load(model, 4, "outputs: [y]")).size() == 1);
}

TEST_CASE("functions of one value are told by what they give") {
  const auto function = [](const std::function<std::string(OnnxModel&)>& make) {
    OnnxModel m;
    m.input("x", {"n", 8});
    m.node("h", "MatMul", {"x", m.weight("w", {8, 8})});
    make(m);
    m.ends("y");
    const pcg::Graph g = load(m, 2);
    return only<pcg::Unary>(g).kind;
  };
  const std::string h = "h_output_0";
  CHECK(function([&](OnnxModel& m) { return m.node("mul", "Mul", {h, m.node("s", "Sigmoid", {h})}); }) == pcg::Unary::Kind::silu);
  CHECK(function([&](OnnxModel& m) {
          const std::string r = m.node("r", "Relu", {h});
          return m.node("mul", "Mul", {r, r});
        }) == pcg::Unary::Kind::relu2);
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as PyTorch has it.
  CHECK(function([&](OnnxModel& m) {
          const std::string cube = m.node("c", "Mul", {m.node("p", "Pow", {h, m.real("three", 3)}), m.real("small", 0.044715F)});
          const std::string inside = m.node("i", "Mul", {m.node("a", "Add", {h, cube}), m.real("root", 0.7978845608F)});
          const std::string opened = m.node("o", "Add", {m.node("t", "Tanh", {inside}), m.real("one", 1)});
          return m.node("m2", "Mul", {m.node("m1", "Mul", {h, m.real("half", 0.5F)}), opened});
        }) == pcg::Unary::Kind::gelu);
}

TEST_CASE("embeddings, positions, a head that is tied") {
  OnnxModel m;
  m.input("ids", {"batch", "sequence"}, onnx::TensorProto::INT64);
  const std::string words = m.node("/words/Gather", "Gather", {m.weight("words.weight", {50, 8}), "ids"});
  const std::string places =
      m.node("/places/Gather", "Gather", {m.weight("places.weight", {16, 8}), m.integers("places", {0, 1, 2, 3, 4})});
  const std::string x = m.node("/Add", "Add", {words, places});
  const std::string table = m.node("/head/Transpose", "Transpose", {"words.weight"});
  m.with("perm", Sizes{1, 0});
  m.node("/head/MatMul", "MatMul", {x, table});
  m.ends("logits", {"batch", "sequence", 50});
  const pcg::Graph g = load(m, 3, "sizes: {sequence: 5}");
  CHECK(kinds(g) == "input embedding slice binary linear input cross_entropy");
  CHECK(g.parameters() == 50 * 8 + 16 * 8);  // the table once
  CHECK(only<pcg::Linear>(g).transposed_weight);
  CHECK(only<pcg::Slice>(g).length == 5);
  CHECK(g.tokens_per_sample() == 5);
  CHECK(problems(m) ==
        "FILE: ids: dim 1 of this input is free: \"sequence\"\n"
        "       write e.g. sizes: {sequence: 128} beside onnx");
  CHECK(problems(m, "sizes: {sequence: 5, heads: 3}") ==
        "FILE: no input has a free size \"heads\" after its first dim\n       leave it out of sizes");
}

TEST_CASE("a file whose bytes are changed anywhere is read or refused") {
  const std::string whole = Encoder({.old_norms = true}).make().bytes();
  base::Random random(7);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 3; ++k) bytes[static_cast<std::size_t>(random.below(bytes.size()))] = static_cast<char>(random.below(256));
    (void)problems_of_bytes(bytes);  // does not crash, and throws nothing else
  }
}

TEST_CASE("plans of an imported model are held against it") {
  // Small sizes exist for reshapes that name few numbers; the plan of one device is the model.
  const pcg::Graph g = load(Encoder({.fixed_batch = true}).make(), 4);
  const pcg::Plan plan{.pcg = pcg::parallelize(g, pcg::unsharded(g))};
  CHECK(pcg::check_equivalence(plan, g, 2, 7).equivalent);
}
