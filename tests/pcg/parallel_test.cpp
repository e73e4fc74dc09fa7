// Parallel shapes, iteration spaces and the typing of operators.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/sharding/iteration_space.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "pcg/sharding/sharding.hpp"

namespace pcg {
namespace {

Sharding cut(const IterationSpace& space, std::initializer_list<std::pair<const char*, int>> degrees) {
  Sharding s = unsharded(space);
  for (const auto& [name, degree] : degrees) {
    const int l = find_loop(space, name);
    REQUIRE_MESSAGE(l >= 0, name);
    s.degrees[static_cast<std::size_t>(l)] = degree;
  }
  return s;
}

ParallelShape random_shape() {
  ParallelShape s;
  const int rank = *rc::gen::inRange(0, 4);
  for (int d = 0; d < rank; ++d) {
    const int degree = *rc::gen::inRange(1, 4);
    s.dims.push_back({degree * *rc::gen::inRange(1, 4), degree});
  }
  s.sum = *rc::gen::inRange(1, 4);
  s.copy = *rc::gen::inRange(1, 4);
  return s;
}

TEST_CASE("linear: loops b, k, n cut 2, 1, 4 give x in 4 copies, w in 2 copies and y without either") {
  const std::vector<TensorShape> in{real({8, 6}), real({6, 12})};
  const IterationSpace space = iteration_space(Linear{.out = 12}, in);
  const Sharding s = cut(space, {{"b", 2}, {"n", 4}});
  CHECK(s.points() == 8);
  CHECK(to_text(input_shape(space, s, 0, in[0])) == "[8/2, 6] copy 4");
  CHECK(to_text(input_shape(space, s, 1, in[1])) == "[6, 12/4] copy 2");
  CHECK(to_text(output_shape(space, s, 0, real({8, 12}))) == "[8/2, 12/4]");
  // Task space (b, k, n): point 5 is b 1, n 1. It reads copy 1 of block 1 of x (1 * 2 blocks + 1), copy 1 of block 1 of w (1 * 4 + 1),
  // and writes block (1, 1) of y (1 * 4 + 1).
  CHECK(input_shard(space, s, 0, 5) == 3);
  CHECK(input_shard(space, s, 1, 5) == 5);
  CHECK(output_shard(space, s, 0, 5) == 5);
}

TEST_CASE("linear: cutting k leaves partial sums, and is forbidden before an activation") {
  const std::vector<TensorShape> in{real({8, 6}), real({6, 12})};
  const IterationSpace space = iteration_space(Linear{.out = 12}, in);
  const Sharding s = cut(space, {{"k", 3}, {"n", 2}});
  CHECK(to_text(output_shape(space, s, 0, real({8, 12}))) == "[8, 12/2] sum 3");
  CHECK(output_shard(space, s, 0, 5) == 5);  // k 2, n 1: sum 2, block 1
  const IterationSpace relu = iteration_space(Linear{.out = 12, .activation = Activation::relu}, in);
  CHECK(violation(relu, s, in, std::vector{real({8, 12})}) == "loop k may not be cut");
}

TEST_CASE("gradients: what an input lacks makes partial sums of its gradient; redundant copies stay equal copies") {
  const std::vector<TensorShape> in{real({8, 6}), real({6, 12})};
  const IterationSpace space = iteration_space(Linear{.out = 12}, in);
  Sharding s = cut(space, {{"b", 2}, {"k", 3}, {"n", 2}});
  s.copies = 2;
  CHECK(to_text(input_gradient_shape(space, s, 0, in[0])) == "[8/2, 6/3] sum 2 copy 2");
  CHECK(to_text(input_gradient_shape(space, s, 1, in[1])) == "[6/3, 12/2] sum 2 copy 2");
  CHECK(to_text(output_gradient_shape(space, s, 0, real({8, 12}))) == "[8/2, 12/2] copy 6");
  // Point 23 is the last: copy 1, b 1, k 2, n 1: the last shard of everything.
  CHECK(s.points() == 24);
  CHECK(input_gradient_shard(space, s, 0, 23) == 23);
  CHECK(output_gradient_shard(space, s, 0, 23) == 23);
  // Point 12 is copy 1 with all else 0: copy 1 of the first blocks, which 3 (k) more copies of y's gradient follow.
  CHECK(input_gradient_shard(space, s, 0, 12) == 6);
  CHECK(output_gradient_shard(space, s, 0, 12) == 12);
}

// The rows of a bag are added up: each point adds those of its part, so the gradients of the table are parts of a sum. A bias is added
// once.
TEST_CASE("gradients over a summed loop: of a table of rows partial sums, of a bias equal copies") {
  const std::vector<TensorShape> bags{{{8, 4}, Element::index}, real({100, 6})};
  const IterationSpace rows = iteration_space(EmbeddingBag{.vocabulary = 100, .width = 6}, bags);
  const Sharding cut_bags = cut(rows, {{"bag", 2}});
  CHECK(to_text(output_shape(rows, cut_bags, 0, real({8, 6}))) == "[8, 6] sum 2");
  CHECK(to_text(input_gradient_shape(rows, cut_bags, 1, bags[1])) == "[100, 6] sum 2");
  for (int point : {0, 1}) CHECK(input_gradient_shard(rows, cut_bags, 1, point) == point);
  const std::vector<TensorShape> in{real({8, 6}), real({6, 12}), real({12})};
  const IterationSpace product = iteration_space(Linear{.out = 12, .has_bias = true}, in);
  CHECK(to_text(input_gradient_shape(product, cut(product, {{"k", 2}}), 2, in[2])) == "[12] copy 2");
}

// y = (x0 + x1) w: the gradient of each summand of x is that of x, y's times w; that of w is x0 and x1, each times y's, added up.
TEST_CASE("gradients where partial sums pass one factor: the other's are partial sums, its own are copies; of addends both are copies") {
  const std::vector<TensorShape> in{real({8, 6}), real({6, 12})};
  const IterationSpace product = iteration_space(Linear{.out = 12}, in);
  Sharding s = unsharded(product);
  s.sums = 2;
  s.through = 0;
  CHECK(to_text(input_shape(product, s, 1, in[1])) == "[6, 12] copy 2");
  CHECK(to_text(input_gradient_shape(product, s, 0, in[0])) == "[8, 6] copy 2");
  CHECK(to_text(input_gradient_shape(product, s, 1, in[1])) == "[6, 12] sum 2");
  CHECK(to_text(output_gradient_shape(product, s, 0, real({8, 12}))) == "[8, 12] copy 2");
  for (int point : {0, 1}) {
    CHECK(input_gradient_shard(product, s, 0, point) == point);
    CHECK(input_gradient_shard(product, s, 1, point) == point);
    CHECK(output_gradient_shard(product, s, 0, point) == point);
  }
  const std::vector<TensorShape> both{real({8, 6}), real({8, 6})};
  const IterationSpace sum = iteration_space(Binary{}, both);
  for (std::size_t i : {0U, 1U})
    CHECK(to_text(input_gradient_shape(sum, {.degrees = {1, 1}, .sums = 2, .through = 0}, i, both[i])) == "[8, 6] copy 2");
}

TEST_CASE("grouped convolution: output channels are cut by whole groups, the input's channels alike") {
  const std::vector<TensorShape> in{real({4, 8, 6, 6}), real({16, 2, 3, 3})};
  const Conv2d conv{.out = 16, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}, .groups = 4};
  const IterationSpace space = iteration_space(conv, in);
  const Sharding s = cut(space, {{"n", 4}});
  CHECK(to_text(input_shape(space, s, 0, in[0])) == "[4, 8/4, 6, 6]");
  CHECK(to_text(input_shape(space, s, 1, in[1])) == "[16/4, 2, 3, 3]");
  CHECK(violation(space, cut(space, {{"n", 8}}), in, infer_shapes(conv, in)) == "loop n of size 4 does not divide into 8");
  CHECK(violation(space, cut(space, {{"c", 2}}), in, infer_shapes(conv, in)) == "loop c may not be cut");
}

TEST_CASE("attention: kv heads index the hidden dims of all inputs; cutting s gathers keys and values inside") {
  const Attention op{.heads = 8, .kv_heads = 2};
  const std::vector<TensorShape> in{real({4, 16, 12 * 5})};
  const IterationSpace space = iteration_space(op, in);
  const Sharding s = cut(space, {{"b", 2}, {"s", 4}, {"heads", 2}});
  CHECK(to_text(input_shape(space, s, 0, in[0])) == "[4/2, 16/4, 60/2]");
  CHECK(to_text(output_shape(space, s, 0, real({4, 16, 40}))) == "[4/2, 16/4, 40/2]");
  const auto inside = internal_collectives(op, space, s, in);
  REQUIRE(inside.size() == 3);
  // Keys and values of one kv head of 5 each, of all 16 positions, of 2 samples.
  CHECK(inside[0].shape.sizes == std::vector<std::int64_t>{2, 16, 10});
  CHECK(inside[0].kind == InternalCollective::Kind::all_gather);
  CHECK(inside[2].kind == InternalCollective::Kind::reduce_scatter);
  CHECK(inside[2].backward);
  CHECK(internal_collectives(op, space, cut(space, {{"heads", 2}}), in).empty());
  // Repeated: of the four heads that share it.
  const Attention repeated{.heads = 8, .kv_heads = 2, .repeated_keys = true};
  CHECK(internal_collectives(repeated, space, s, in)[0].shape.sizes == std::vector<std::int64_t>{2, 16, 40});
}

TEST_CASE("convolution by rows and columns: neighbours give the halos that windows reach over, and get their gradients back") {
  using Kind = InternalCollective::Kind;
  const std::vector<TensorShape> in{real({2, 4, 16, 12}), real({8, 4, 5, 3})};
  const Conv2d op{.out = 8, .rows = {.kernel = 5, .padding = 2}, .columns = {.kernel = 3, .padding = 1}};
  const IterationSpace space = iteration_space(op, in);
  const Sharding s = cut(space, {{"b", 2}, {"h", 4}, {"w", 2}});
  CHECK(to_text(input_shape(space, s, 0, in[0])) == "[2/2, 4, 16/4, 12/2]");
  CHECK(to_text(input_shape(space, s, 1, in[1])) == "[8, 4, 5, 3] copy 16");
  CHECK(to_text(input_gradient_shape(space, s, 1, in[1])) == "[8, 4, 5, 3] sum 16");
  const auto inside = internal_collectives(op, space, s, in);
  REQUIRE(inside.size() == 8);
  // floor(5 / 2) = 2 rows of 6 columns each way; then one column of 4 + 2 * 2 rows each way.
  const std::vector<std::pair<Kind, TensorShape>> forward{{Kind::halo_before, real({1, 4, 2, 6})},
                                                          {Kind::halo_after, real({1, 4, 2, 6})},
                                                          {Kind::halo_before, real({1, 4, 8, 1})},
                                                          {Kind::halo_after, real({1, 4, 8, 1})}};
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const InternalCollective &there = inside[2 * i], &back = inside[2 * i + 1];
    CHECK(std::pair(there.kind, there.shape) == forward[i]);
    CHECK(!there.backward);
    CHECK(back.backward);
    CHECK(back.shape == there.shape);
    CHECK(back.kind == (there.kind == Kind::halo_before ? Kind::halo_after : Kind::halo_before));
  }
  CHECK(violation(space, cut(space, {{"h", 16}}), in, infer_shapes(op, in)) ==
        "blocks of 1 of loop h are shorter than the 2 that neighbours need");
}

TEST_CASE("a stride moves the halos; where windows lie side by side there are none; where blocks do not begin together there is no cut") {
  auto conv = [](int kernel, int stride, int pad) {
    return Conv2d{.out = 4, .rows = {.kernel = kernel, .stride = stride, .padding = pad}, .columns = {.kernel = 1}};
  };
  auto inside = [](const Conv2d& op) {
    const std::vector<TensorShape> in{real({2, 4, 16, 8}), real({4, 4, op.rows.kernel, 1})};
    const IterationSpace space = iteration_space(op, in);
    return internal_collectives(op, space, cut(space, {{"h", 2}}), in);
  };
  // kernel 3, stride 2, padding 1: the window of row o is rows 2o - 1 to 2o + 1, so one row from before, none from behind.
  CHECK(inside(conv(3, 2, 1)).size() == 2);
  CHECK(inside(conv(3, 2, 1))[0].shape == real({2, 4, 1, 8}));
  CHECK(inside(conv(1, 1, 0)).empty());
  CHECK(inside(conv(2, 2, 0)).empty());
  const std::vector<TensorShape> in{real({2, 4, 16, 8}), real({4, 4, 3, 1})};
  const IterationSpace valid = iteration_space(conv(3, 1, 0), in);  // 16 rows in, 14 out
  CHECK(violation(valid, cut(valid, {{"h", 2}}), in, infer_shapes(conv(3, 1, 0), in)) == "loop h may not be cut");
}

TEST_CASE("cross-entropy over a cut vocabulary: three all-reduces of one number for each position, losses in equal copies") {
  const std::vector<TensorShape> in{real({4, 16, 100}), {.sizes = {4, 16}, .element = Element::index}};
  const IterationSpace space = iteration_space(CrossEntropy{}, in);
  const Sharding s = cut(space, {{"b", 2}, {"class", 4}});
  CHECK(to_text(output_shape(space, s, 0, real({4, 16}))) == "[4/2, 16] copy 4");
  const auto inside = internal_collectives(CrossEntropy{}, space, s, in);
  REQUIRE(inside.size() == 3);
  CHECK(inside[0].fp32);
  CHECK(inside[0].shape == real({2, 16}));
}

TEST_CASE("reshape: kept dims and the outermost of a split or merged dim may be cut") {
  const std::vector<TensorShape> in{real({4, 6, 8})};
  const IterationSpace split = iteration_space(Reshape{.sizes = {0, 0, 4, 2}}, in);
  CHECK(split.inputs[0] == std::vector<int>{0, 1, 2});
  CHECK(split.outputs[0] == std::vector<int>{0, 1, 2, -1});
  CHECK(split.loops[2].size == 4);
  const IterationSpace merge = iteration_space(Reshape{.sizes = {24, 8}}, in);
  CHECK(merge.inputs[0] == std::vector<int>{0, -1, 1});
  CHECK(merge.outputs[0] == std::vector<int>{0, 1});
  CHECK(merge.loops[0].size == 4);
  const IterationSpace ones = iteration_space(Reshape{.sizes = {4, 1, 48}}, in);
  CHECK(ones.outputs[0] == std::vector<int>{0, -1, 1});
  CHECK(ones.loops[1].size == 6);
}

TEST_CASE("shard numbers: sum, copy, dims, outermost first") {
  const ParallelShape s{.dims = {{4, 2}, {9, 3}}, .sum = 2, .copy = 5};
  CHECK(s.shards() == 60);
  CHECK(shard_number(s, {.sum = 1, .copy = 2, .block = {1, 0}}) == ((1 * 5 + 2) * 2 + 1) * 3 + 0);
  CHECK(rc::check("shard_number inverts shard_index", [] {
    const ParallelShape shape = random_shape();
    const int shard = *rc::gen::inRange(0, shape.shards());
    RC_ASSERT(shard_number(shape, shard_index(shape, shard)) == shard);
  }));
}

TEST_CASE("conversion is the shortest chain of its order: all-reduce, reduce-scatter, all-gather, all-to-all") {
  const ParallelShape partial{.dims = {{8, 1}, {8, 1}}, .sum = 4};
  const ParallelShape copies{.dims = {{8, 1}, {8, 1}}, .copy = 4};
  const ParallelShape rows{.dims = {{8, 4}, {8, 1}}};
  const ParallelShape columns{.dims = {{8, 1}, {8, 4}}};
  CHECK(conversion(partial, copies) == std::vector<ParallelOperator>{Reduce{4}, Replicate{4}});
  CHECK(conversion(partial, rows) == std::vector<ParallelOperator>{Reduce{4}, Partition{0, 4}});
  CHECK(conversion(rows, copies) == std::vector<ParallelOperator>{Combine{0, 4}, Replicate{4}});
  CHECK(conversion(rows, columns) == std::vector<ParallelOperator>{Combine{0, 4}, Partition{1, 4}});
  CHECK(conversion(copies, rows) == std::vector<ParallelOperator>{Discard{4}, Partition{0, 4}});
  CHECK_THROWS_WITH(conversion(copies, partial), "no conversion from [8, 8] copy 4 to [8, 8] sum 4: partial sums can be added, not made");
}

TEST_CASE("conversion leads where it says") {
  CHECK(rc::check([] {
    const ParallelShape from = random_shape();
    ParallelShape to = from;
    to.sum = *rc::gen::element(1, from.sum);
    to.copy = *rc::gen::inRange(1, 6);
    for (ParallelDim& d : to.dims) {
      const int degree = *rc::gen::inRange(1, 7);
      d.degree = d.size % degree == 0 ? degree : 1;
    }
    ParallelShape at = from;
    for (const ParallelOperator& op : conversion(from, to)) at = pcg::apply(op, at);
    RC_ASSERT(at == to);
    RC_ASSERT(conversion(to, to).empty());
  }));
}

TEST_CASE("a parallel operator that does not apply says why") {
  const ParallelShape s{.dims = {{6, 2}}, .sum = 3, .copy = 1};
  CHECK_THROWS_WITH(pcg::apply(Partition{0, 2}, s), "partition: dim 0 of [6/2] sum 3 does not divide by 2 more");
  CHECK_THROWS_WITH(pcg::apply(Partition{1, 2}, s), "partition: dim 1 does not exist in [6/2] sum 3");
  CHECK_THROWS_WITH(pcg::apply(Reduce{2}, s), "reduce: sum 3 of [6/2] sum 3 does not divide by 2");
  CHECK_THROWS_WITH(pcg::apply(Discard{2}, s), "discard: copy 1 of [6/2] sum 3 does not divide by 2");
}

}  // namespace
}  // namespace pcg
