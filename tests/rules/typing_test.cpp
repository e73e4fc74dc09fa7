// The typing of rules against that of parallel computation graphs.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/iteration_space.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "pcg/sharding/sharding.hpp"
#include "search/rules/language/term.hpp"
#include "search/rules/language/typing.hpp"

using namespace rules;

namespace {

struct Case {
  std::string name;
  Node node;
  std::vector<Type> inputs;  // sizes only
  pcg::Operator op;
  std::size_t output = 0;  // of a pcg split
};

Type sized(std::vector<std::int64_t> sizes, bool index = false) {
  Type t;
  t.index = index;
  for (const std::int64_t s : sizes) {
    t.size[t.rank] = s;
    t.degree[t.rank++] = 1;
  }
  return t;
}

Node node(Kind k, Function f = Function::none, std::uint8_t axis = 0, std::int64_t at = 0) {
  return {.kind = k, .function = f, .axis = axis, .at = {at, at, at}};
}

std::vector<Case> cases() {
  const Type x = sized({12, 24}), w = sized({24, 36}), image = sized({12, 24, 6, 6}), t = sized({12, 24, 36}),
             index = sized({12, 24}, true);
  const auto relu = Function::relu;
  const auto act = pcg::Activation::relu;
  const pcg::Conv2d conv{.out = 36, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}};
  pcg::Conv2d conv_relu = conv, grouped = conv;
  conv_relu.activation = act;
  grouped.groups = 12;
  pcg::Conv2d biased = conv, grouped_biased = grouped;
  biased.has_bias = grouped_biased.has_bias = true;
  const pcg::Pool2d pool{.rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}};
  pcg::Pool2d average = pool;
  average.kind = pcg::Pool2d::Kind::average;
  return {
      {"linear", node(Kind::linear), {x, w}, pcg::Linear{.out = 36}},
      {"linear relu", node(Kind::linear, relu), {x, w}, pcg::Linear{.out = 36, .activation = act}},
      {"linear bias", node(Kind::linear_bias), {x, w, sized({36})}, pcg::Linear{.out = 36, .has_bias = true}},
      {"linear bias relu", node(Kind::linear_bias, relu), {x, w, sized({36})}, pcg::Linear{.out = 36, .has_bias = true, .activation = act}},
      {"batch_matmul", node(Kind::batch_matmul), {t, sized({12, 36, 24})}, pcg::BatchMatmul{}},
      {"conv", node(Kind::conv), {image, sized({36, 24, 3, 3})}, conv},
      {"conv relu", node(Kind::conv, relu), {image, sized({36, 24, 3, 3})}, conv_relu},
      {"conv grouped", node(Kind::conv), {image, sized({36, 2, 3, 3})}, grouped},
      {"conv bias", node(Kind::conv_bias), {image, sized({36, 24, 3, 3}), sized({36})}, biased},
      {"conv grouped bias", node(Kind::conv_bias), {image, sized({36, 2, 3, 3}), sized({36})}, grouped_biased},
      {"max_pool", node(Kind::max_pool), {image}, pool},
      {"average_pool", node(Kind::average_pool), {image}, average},
      {"add", node(Kind::add), {x, x}, pcg::Binary{}},
      {"multiply", node(Kind::multiply), {t, t}, pcg::Binary{.kind = pcg::Binary::Kind::multiply}},
      {"unary", node(Kind::unary, relu), {t}, pcg::Unary{}},
      {"dropout", node(Kind::dropout), {t}, pcg::Dropout{}},
      {"scale", node(Kind::scale), {x, Type{}}, pcg::Unary{.kind = pcg::Unary::Kind::scale}},
      {"concat", node(Kind::concat, Function::none, 1), {x, sized({12, 36})}, pcg::Concat{.axis = 1}},
      {"split0", node(Kind::split0, Function::none, 1, 12), {t}, pcg::Split{.axis = 1, .sizes = {12, 12}}, 0},
      {"split1", node(Kind::split1, Function::none, 0, 6), {t}, pcg::Split{.axis = 0, .sizes = {6, 6}}, 1},
      {"transpose", node(Kind::transpose), {t}, pcg::Transpose{.permutation = {0, 2, 1}}},
      {"sum", node(Kind::sum, Function::none, 1), {t}, pcg::Reduction{.axis = 1}},
      {"sum of columns", node(Kind::sum, Function::none, 1), {x}, pcg::Reduction{.axis = 1}},
      {"softmax", node(Kind::softmax), {t}, pcg::Softmax{}},
      {"layer_norm", node(Kind::layer_norm), {t, sized({36}), sized({36})}, pcg::LayerNorm{}},
      {"rms_norm", node(Kind::rms_norm), {t, sized({36})}, pcg::LayerNorm{.rms = true}},
      {"batch_norm", node(Kind::batch_norm), {image, sized({24}), sized({24})}, pcg::BatchNorm{}},
      {"embedding", node(Kind::embedding), {index, w}, pcg::Embedding{.vocabulary = 24, .width = 36}},
      {"embedding_bag", node(Kind::embedding_bag), {index, w}, pcg::EmbeddingBag{.vocabulary = 24, .width = 36}},
      {"attention", node(Kind::attention), {t}, pcg::Attention{.heads = 12, .kv_heads = 12}},
  };
}

pcg::ParallelShape shape_of(const Type& t) {
  pcg::ParallelShape s;
  for (std::size_t d = 0; d < t.rank; ++d) s.dims.push_back({t.size[d], static_cast<int>(t.degree[d])});
  s.sum = static_cast<int>(t.summands);
  s.copy = static_cast<int>(t.copies);
  s.element = t.index ? pcg::Element::index : pcg::Element::real;
  return s;
}

// The output's shape that some lawful sharding gives these inputs; nullopt: none does. A scale's factor is no input in pcg.
std::optional<pcg::ParallelShape> pcg_output(const Case& c, const std::vector<Type>& inputs) {
  std::vector<pcg::TensorShape> whole;
  std::vector<pcg::ParallelShape> shapes;
  for (const Type& t : inputs) {
    if (t.rank == 0) {
      if (t != Type{}) return std::nullopt;
      continue;
    }
    shapes.push_back(shape_of(t));
    whole.push_back(shapes.back().whole());
  }
  const pcg::IterationSpace space = pcg::iteration_space(c.op, whole);
  const std::vector<pcg::TensorShape> outputs = pcg::infer_shapes(c.op, whole);
  pcg::Sharding s = pcg::unsharded(space);
  std::optional<pcg::ParallelShape> found;
  // Loops' degrees, then copies and sums, must all occur in the inputs: try every combination of small ones.
  const std::function<void(std::size_t)> choose = [&](std::size_t l) {
    if (l < space.loops.size()) {
      for (const int degree : {1, 2, 3, 4, 6}) {
        s.degrees[l] = degree;
        choose(l + 1);
      }
      return;
    }
    for (s.copies = 1; s.copies <= shapes[0].copy; ++s.copies)
      for (s.through = -1; s.through < static_cast<int>(shapes.size()); ++s.through) {
        s.sums = shapes[static_cast<std::size_t>(std::max(s.through, 0))].sum;
        bool fits = true;
        for (std::size_t i = 0; fits && i < shapes.size(); ++i) fits = pcg::input_shape(space, s, i, whole[i]) == shapes[i];
        if (fits && !pcg::violation(space, s, whole, outputs)) found = pcg::output_shape(space, s, c.output, outputs[c.output]);
      }
  };
  choose(0);
  return found;
}

int draw(std::initializer_list<int> from) { return *rc::gen::elementOf(std::vector<int>(from)); }

void lay_out_at_random(Type& t) {
  for (std::size_t d = 0; d < t.rank; ++d)
    if (const int degree = draw({1, 1, 1, 2, 3}); t.size[d] % degree == 0) t.degree[d] = degree;
  t.summands = draw({1, 1, 1, 1, 2});
  t.copies = draw({1, 1, 2, 3, 4, 6});
}

// Layouts that a random sharding asks for: most random ones fit nothing.
void lay_out_by_sharding(const Case& c, std::vector<Type>& inputs) {
  std::vector<pcg::TensorShape> whole;
  for (const Type& t : inputs)
    if (t.rank > 0) whole.push_back(shape_of(t).whole());
  const pcg::IterationSpace space = pcg::iteration_space(c.op, whole);
  pcg::Sharding s = pcg::unsharded(space);
  for (int& d : s.degrees) d = draw({1, 1, 2, 3});
  s.copies = draw({1, 2});
  s.sums = draw({1, 1, 2});
  if (s.sums > 1 && !space.alone.empty()) {
    const int i = draw({-1, 0, 1});
    if (i >= 0 && space.alone[static_cast<std::size_t>(i)] != pcg::Passing::no) s.through = i;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const pcg::ParallelShape p = pcg::input_shape(space, s, i, whole[i]);
    for (std::size_t d = 0; d < p.dims.size(); ++d)
      if (p.dims[d].size % p.dims[d].degree == 0) inputs[i].degree[d] = p.dims[d].degree;
    inputs[i].summands = p.sum;
    inputs[i].copies = p.copy;
  }
}

}  // namespace

TEST_CASE("every operator is typed as some sharding of pcg types it, or refused where none does") {
  int typed = 0, refused = 0;
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    CHECK(rc::check(c.name, [&] {
      std::vector<Type> inputs = c.inputs;
      if (*rc::gen::arbitrary<bool>()) lay_out_by_sharding(c, inputs);
      else
        for (Type& t : inputs) lay_out_at_random(t);
      std::vector<const Type*> in;
      for (const Type& t : inputs) in.push_back(&t);
      const auto ours = type_in(c.node, in, {.degree = 1, .at = c.node.at[0]});
      const auto theirs = pcg_output(c, inputs);
      RC_ASSERT(ours.has_value() == theirs.has_value());
      if (ours) RC_ASSERT(shape_of(*ours) == *theirs);
      ++(ours ? typed : refused);
    }));
  }
  CHECK(typed > 500);
  CHECK(refused > 500);
}

TEST_CASE("layout operators are typed as those of pcg") {
  CHECK(rc::check([] {
    Type t = sized({12, 24});
    lay_out_at_random(t);
    const int degree = draw({2, 3, 4}), axis = draw({0, 1});
    const auto expect = [&](Kind k, const pcg::ParallelOperator& op) {
      const Type* in = &t;
      const auto ours = type_in(node(k, Function::none, static_cast<std::uint8_t>(axis)), std::span(&in, 1), {.degree = degree});
      std::optional<pcg::ParallelShape> theirs;
      try {
        theirs = pcg::apply(op, shape_of(t));
      } catch (const pcg::ShapeError&) {}
      RC_ASSERT(ours.has_value() == theirs.has_value());
      if (ours) RC_ASSERT(shape_of(*ours) == *theirs);
    };
    expect(Kind::partition, pcg::Partition{axis, degree});
    expect(Kind::combine, pcg::Combine{axis, degree});
    expect(Kind::replicate, pcg::Replicate{degree});
    expect(Kind::reduce, pcg::Reduce{degree});
  }));
}
