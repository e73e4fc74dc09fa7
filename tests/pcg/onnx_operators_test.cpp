// Operators of ONNX files one by one, weights and losses, and what is refused.
#include <doctest/doctest.h>

#include <functional>

#include "tests/pcg/onnx_reading.hpp"

using namespace onnx_test;

TEST_CASE("everything that is not known is said at once, each with its node") {
  OnnxModel m;
  m.input("x", {"n", 4, 9, 9});
  const std::string a = m.node("/conv/Conv", "Conv", {"x", m.weight("conv.weight", {4, 4, 3, 3})});
  m.with("kernel_shape", Sizes{3, 3}).with("dilations", Sizes{2, 2});
  const std::string b = m.node("/up/Resize", "Resize", {m.node("/c2/Conv", "Conv", {"x", m.weight("c2.weight", {4, 4, 1, 1})})});
  m.node("/Add", "Add", {a, b});
  m.ends();
  CHECK(problems(m) ==
        "FILE: /conv/Conv (Conv): dilations of 2 x 2\n"
        "       there are no dilated windows here\n"
        "FILE: /up/Resize (Resize): this operator is not known here\n"
        "       leave it out of the exported model, write it with known operators, or describe the model by builtin, transformer or graph");
}

TEST_CASE("single operators that are refused") {
  const auto refused = [](const std::vector<test::OnnxSize>& sizes, const std::function<void(OnnxModel&)>& make) {
    OnnxModel m;
    m.input("x", sizes);
    const std::int64_t last = std::get<std::int64_t>(sizes.back());
    m.node("h", "MatMul", {"x", m.weight("w", {last, last})});
    make(m);
    m.ends("y");
    const std::string text = problems(m);
    return text.substr(0, text.find('\n'));
  };
  const std::string h = "h_output_0";
  const auto with = [&](const std::string& type, const std::function<void(OnnxModel&)>& attributes) {
    return [=](OnnxModel& m) {
      m.node("n", type, {h});
      attributes(m);
    };
  };
  CHECK(refused({"b", 8}, with("Softmax", [](OnnxModel& m) { m.with("axis", 0); })) ==
        "FILE: n (Softmax): it goes over dim 0 of [7919, 8], which holds the samples");
  CHECK(refused({"b", 8}, with("ReduceMean", [](OnnxModel& m) { m.with("axes", Sizes{0}); })) ==
        "FILE: n (ReduceMean): it adds up dim 0 of [7919, 8], which holds the samples");
  CHECK(refused({"b", 8}, with("Transpose", [](OnnxModel& m) {
                  m.with("perm", Sizes{0, 2});
                })) == "FILE: n (Transpose): transpose: [0, 2] is no permutation of the dims of [7919, 8]");
  CHECK(refused({"b", 8}, with("Einsum", [](OnnxModel&) {})) == "FILE: n (Einsum): this operator is not known here");
  CHECK(refused({"b", 4, 6, 6}, with("MaxPool", [](OnnxModel& m) {
                  m.with("kernel_shape", Sizes{2, 2}).with("pads", Sizes{0, 0, 1, 1});
                })) == "FILE: n (MaxPool): pads of 0 before and 1 after");
  CHECK(refused({"b", 8}, [&](OnnxModel& m) {
          m.node("n", "Reshape", {h, m.integers("to", {3, -1})});
        }) == "FILE: n (Reshape): [7919, 8] does not become what it asks for");
}

TEST_CASE("damaged files are refused, not believed") {
  CHECK(problems_of_bytes("no protobuf at all") == "FILE: is no ONNX model, or a damaged one: its messages do not parse");
  CHECK(problems_of_bytes("") == "FILE: is no ONNX model: it has no graph of nodes");
  const std::string whole = residual().bytes();
  CHECK(problems_of_bytes(whole.substr(0, whole.size() / 2)) == "FILE: is no ONNX model, or a damaged one: its messages do not parse");
  OnnxModel lost = mnist();
  lost.message().mutable_graph()->mutable_node(1)->set_input(0, "nowhere");
  CHECK(problems(lost) == "FILE: /1/Relu (Relu) reads \"nowhere\", which nothing before it makes");
  OnnxModel twice = mnist();
  twice.message().mutable_graph()->mutable_node(1)->set_output(0, "images");
  CHECK(problems(twice) == "FILE: /1/Relu (Relu) makes \"images\", which is there already");
  OnnxModel negative = mnist();
  negative.message().mutable_graph()->mutable_initializer(0)->set_dims(0, -3);
  CHECK(problems(negative) == "FILE: tensor \"0.weight\" has a size of -3");
  OnnxModel huge = mnist();
  huge.message().mutable_graph()->mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62);
  CHECK(problems(huge) == "FILE: tensor \"0.weight\" has a size of 4611686018427387904");
  OnnxModel short_of_numbers = residual();
  short_of_numbers.reals("unused", {3}, {1, 2});
  CHECK(problems(short_of_numbers) == "FILE: tensor \"unused\" has 2 numbers, its sizes ask for 3");
  CHECK(problems(mnist(), "outputs: [logit]") == "FILE: no output is called \"logit\"\n       did you mean \"logits\"?");
}

TEST_CASE("zeros around an image are those of the window that reads it") {
  OnnxModel m;
  m.input("x", {"n", 4, 9, 9});
  const std::string padded = m.node("/Pad", "Pad", {"x", m.integers("pads", {0, 0, 1, 2, 0, 0, 1, 2})});
  m.node("/Conv", "Conv", {padded, m.weight("w", {4, 4, 3, 3})});
  m.with("kernel_shape", Sizes{3, 3}).ends();
  const auto conv = only<pcg::Conv2d>(load(m, 2));
  CHECK(conv.rows == pcg::Window{.kernel = 3, .padding = 1});
  CHECK(conv.columns == pcg::Window{.kernel = 3, .padding = 2});
}

TEST_CASE("padding behind alone is padding on both sides where as many windows fit") {
  OnnxModel m;
  m.input("x", {"n", 4, 112, 112});
  const std::string conv = m.node("/Conv", "Conv", {"x", m.weight("w", {4, 4, 1, 1})});
  // (112 + 1 - 3) / 2 + 1 = 56 windows; 1 on both sides: (114 - 3) / 2 + 1 = 56; none: 55.
  m.node("/Pool", "MaxPool", {conv});
  m.with("kernel_shape", Sizes{3, 3}).with("strides", Sizes{2, 2}).with("pads", Sizes{0, 0, 1, 1}).ends();
  CHECK(only<pcg::Pool2d>(load(m, 2)).rows == pcg::Window{.kernel = 3, .stride = 2, .padding = 1});
}

TEST_CASE("sums, norms over channels and old softmaxes of model zoos") {
  OnnxModel m(9);
  m.input("x", {"n", 4, 6, 6});
  const std::string a = m.node("/a", "Conv", {"x", m.weight("wa", {8, 4, 1, 1})}),
                    b = m.node("/b", "Conv", {"x", m.weight("wb", {8, 4, 1, 1})}),
                    c = m.node("/c", "Conv", {"x", m.weight("wc", {8, 4, 1, 1})});
  const std::string sum = m.node("/s", "Sum", {a, b, c});
  const std::string normed = m.node("/l", "LRN", {sum});
  m.with("size", 5);
  const std::string mean = m.node("/m", "GlobalAveragePool", {normed});
  m.node("/p", "Softmax", {mean});  // opset 9: over dims 1 to 3, of which 2 and 3 are 1
  m.ends();
  const pcg::Graph g = load(m, 2);
  CHECK(of_kind<pcg::Binary>(g).size() == 2);
  CHECK(g.parameters() == 3 * 8 * 4);
  CHECK(only<pcg::Softmax>(g).axis == 1);
}

TEST_CASE("weights that a file makes of their shapes") {
  OnnxModel m(9);
  m.input("x", {"n", 8});
  const std::string w = m.node("w", "ConstantOfShape", {m.integers("w_shape", {16, 8})}),
                    bias = m.node("bias", "ConstantOfShape", {m.integers("bias_shape", {16})});
  m.node("/g", "Gemm", {"x", w, bias});
  m.with("transB", 1).ends();
  CHECK(load(m, 2).parameters() == 16 * 8 + 16);
}

TEST_CASE("numbers of large weights are not read, and count") {
  OnnxModel m;
  m.input("x", {"n", 1024});
  m.node("/a", "MatMul", {"x", m.reals("w", {1024, 512}, std::vector<float>(1024 * 512, 1))});
  m.ends();
  CHECK(load(m, 2).parameters() == 1024 * 512);
  m.message().mutable_graph()->mutable_initializer(0)->set_dims(0, 1000);
  CHECK(problems(m) == "FILE: tensor \"w\" has 524288 numbers, its sizes ask for 512000");
}

TEST_CASE("a file of a later version is read where its messages parse") {
  OnnxModel m = mnist();
  m.message().set_ir_version(11);
  m.message().mutable_opset_import(0)->set_version(22);
  CHECK(load(m, 2).parameters() == 784 * 512 + 512 * 10);
}

TEST_CASE("the loss that is asked for") {
  CHECK(of_kind<pcg::SquaredError>(load(mnist(), 2, "loss: squared_error")).size() == 1);
  OnnxModel m = mnist();
  onnx::NodeProto& last = *m.message().mutable_graph()->mutable_node(2);
  last.set_output(0, "before");
  m.node("/LogSoftmax", "LogSoftmax", {"before"});
  m.message().mutable_graph()->mutable_node(3)->set_output(0, "logits");
  CHECK(structure(load(m, 2)) == structure(load(mnist(), 2)));
}
