// Operators and graphs as YAML, there and back.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/models/load.hpp"
#include "pcg/operators/operator_yaml.hpp"

namespace pcg::models {
namespace {

Operator there_and_back(const Operator& op) {
  base::Yaml y = base::Yaml::make_map();
  write_operator(op, y);
  const base::Yaml read = base::parse_yaml(base::emit_yaml(y), "op.yaml");
  base::Diagnostics sink;
  base::MapReader reader(read, "op", sink);
  Operator result = read_operator(reader);
  reader.finish();
  sink.throw_if_any();
  return result;
}
std::string text_of(const Operator& op) {
  base::Yaml y = base::Yaml::make_map();
  write_operator(op, y);
  return base::emit_yaml(y);
}

int count() { return *rc::gen::inRange(1, 1000); }
bool flag() { return *rc::gen::arbitrary<bool>(); }
double rate() { return *rc::gen::inRange(0, 1000) / 1000.0; }
TensorShape shape() {
  return {.sizes = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 1000)),
          .element = flag() ? Element::index : Element::real};
}
Activation activation() { return static_cast<Activation>(*rc::gen::inRange(0, 5)); }

Window window(int least_kernel) { return {*rc::gen::inRange(least_kernel, 1000), count(), *rc::gen::inRange(0, 1000)}; }

// Of the model, or in parts.
Weight weight() {
  if (flag()) return {shape()};
  return {shape(), {{"a", {4, 8}, {0, 0}, {4, 8}}, {"b", {9, count()}, {0, 2}, {4, 1}}}, *rc::gen::inRange(0, 2)};
}

// One of each kind, with every field drawn.
std::vector<Operator> one_of_each() {
  return {Input{shape()},
          weight(),
          Linear{count(), flag(), flag(), activation()},
          BatchMatmul{flag()},
          Conv2d{count(), window(1), window(1), count(), flag(), activation()},
          Pool2d{static_cast<Pool2d::Kind>(*rc::gen::inRange(0, 2)), window(0), window(0)},
          LayerNorm{flag()},
          BatchNorm{},
          Softmax{*rc::gen::inRange(-4, 4)},
          Attention{count(), count(), flag(), flag(), flag(), flag(), flag(), rate(), flag(), flag(), flag(), flag(), count(), flag()},
          StateSpace{count(), count(), count(), count(), count()},
          Embedding{count(), count()},
          EmbeddingBag{count(), count()},
          Unary{static_cast<Unary::Kind>(*rc::gen::inRange(0, 9)), rate()},
          Binary{static_cast<Binary::Kind>(*rc::gen::inRange(0, 3))},
          Concat{*rc::gen::inRange(-4, 4)},
          Split{*rc::gen::inRange(-4, 4), {count(), count()}},
          Slice{*rc::gen::inRange(-4, 4), count(), count()},
          Reshape{{0, -1, count()}},
          Transpose{{2, 0, 1}},
          Broadcast{*rc::gen::inRange(-4, 4), count()},
          Dropout{rate()},
          Reduction{static_cast<Reduction::Kind>(*rc::gen::inRange(0, 2)), *rc::gen::inRange(-4, 4)},
          CrossEntropy{},
          SquaredError{},
          Summands{{count(), 1}},
          MoeDispatch{count(), rate(), 4, 2, 1.25},
          ExpertLinear{count(), activation(), flag()},
          MoeCombine{count(), rate(), 4, 2, 1.25}};
}

TEST_CASE("every operator reads back as it was written") {
  CHECK(rc::check([] {
    const std::vector<Operator> all = one_of_each();
    RC_ASSERT(all.size() == std::variant_size_v<Operator>);
    for (const Operator& op : all) RC_ASSERT(there_and_back(op) == op);
  }));
}

TEST_CASE("what is usual is not written") {
  CHECK(text_of(Linear{.out = 4096, .has_bias = true}) == "op: linear\nout: 4096\nbias: true\n");
  CHECK(text_of(Attention{.heads = 16, .kv_heads = 16}) == "op: attention\nheads: 16\n");
  CHECK(text_of(Conv2d{.out = 64, .rows = {.kernel = 7}, .columns = {.kernel = 7}}) == "op: conv2d\nout: 64\nkernel: [7, 7]\n");
}

TEST_CASE("one number serves both sides of a kernel") {
  const base::Yaml y = base::parse_yaml("{op: conv2d, out: 8, kernel: 3, padding: 1}", "op.yaml");
  base::Diagnostics sink;
  base::MapReader reader(y, "", sink);
  CHECK(read_operator(reader) == Operator(Conv2d{.out = 8, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}}));
}

TEST_CASE("every builtin reads back as it was written") {
  for (const std::string& name : builtin_names()) {
    const Graph g = builtin(name, 2);
    CHECK_MESSAGE(read_graph(base::parse_yaml(write_graph(g), name), "") == g, name);
  }
}

TEST_CASE("outputs beyond the first are named by number") {
  GraphBuilder b("split");
  const GraphTensorRef x = b.input("x", {.sizes = {2, 7}});
  const std::vector<GraphTensorRef> parts = b.add_raw("parts", Split{.axis = 1, .sizes = {3, 4}}, {x});
  b.add("second", Unary{}, {parts[1]});
  b.add("first", Unary{}, {parts[0]});
  const Graph g = std::move(b).build();
  const std::string text = write_graph(g);
  CHECK(text.find("parts:1") != std::string::npos);
  CHECK(read_graph(base::parse_yaml(text, "g.yaml"), "") == g);
}

TEST_CASE("every problem of a graph file is reported, once") {
  const std::string text =
      "name: broken\n"
      "blocks:\n"
      "  - name: only\n"
      "    nodes:\n"
      "      - {name: x, op: input, shape: [2, 3]}\n"
      "      - {name: y, op: linaer, out: 4, inputs: [x]}\n"
      "      - {name: z, op: unary, function: relu, inputs: [y]}\n"
      "      - {name: a, op: unary, function: relu, inputs: [xx]}\n"
      "      - {name: x, op: unary, function: relu, inputs: [x]}\n"
      "      - {name: b, op: softmax, axis: 5, inputs: [\"x:0\"]}\n"
      "      - {name: c, op: softmax, inputs: [\"x:1\"]}\n";
  std::string all;
  try {
    (void)read_graph(base::parse_yaml(text, "g.yaml"), "");
  } catch (const base::InputError& e) {
    for (const base::Diagnostic& d : e.diagnostics()) all += d.path + ": " + d.message + " | " + d.hint + "\n";
  }
  CHECK(all ==
        "blocks[0].nodes[1].op: unknown op \"linaer\" | did you mean \"linear\"?\n"
        "blocks[0].nodes[3].inputs[0]: no node before this one is called \"xx\" | did you mean \"x\"?\n"
        "blocks[0].nodes[4].name: another node is called \"x\" | \n"
        "blocks[0].nodes[5]: softmax: axis 5 of a tensor of 2 dims | \n"
        "blocks[0].nodes[6].inputs[0]: \"x\" has 1 outputs | \n");
}

}  // namespace
}  // namespace pcg::models
