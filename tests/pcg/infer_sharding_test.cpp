// Layouts of inputs tell how an operator is cut.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "operator_zoo.hpp"
#include "pcg/sharding/iteration_space.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "pcg/sharding/sharding.hpp"

namespace pcg {
namespace {

// Loops that only an output has cannot be seen from inputs.
void forget_unseen_loops(const IterationSpace& space, Sharding& s) {
  std::vector<bool> seen(space.loops.size());
  for (const std::vector<int>& dims : space.inputs)
    for (int l : dims)
      if (l >= 0) seen[static_cast<std::size_t>(l)] = true;
  for (std::size_t l = 0; l < seen.size(); ++l)
    if (!seen[l]) s.degrees[l] = 1;
}

// Some lawful way for partial sums to pass.
void draw_sums(const IterationSpace& space, base::Random& random, Sharding& s) {
  if (!space.parts.empty() || random.below(2) == 0) return;
  std::vector<int> ways;
  if (space.linear) ways.push_back(-1);
  for (std::size_t i = 0; i < space.alone.size(); ++i)
    if (space.alone[i] != Passing::no) ways.push_back(static_cast<int>(i));
  if (ways.empty()) return;
  s.sums = static_cast<int>(2 + random.below(2));
  s.through = ways[random.below(ways.size())];
}

TEST_CASE("the sharding of every operator is found from the layouts that it asks of its inputs") {
  const std::vector<zoo::Exhibit> all = zoo::exhibits();
  CHECK(rc::check([&] {
    const Graph& g = all[*rc::gen::inRange<std::size_t>(0, all.size())].graph;
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      const std::vector<TensorShape> wholes = g.input_shapes(GraphNodeId(n));
      if (wholes.empty()) continue;
      const IterationSpace& space = *g.nodes()[n].space;
      Sharding s = zoo::random_sharding(g, GraphNodeId(n), random);
      forget_unseen_loops(space, s);
      draw_sums(space, random, s);
      RC_ASSERT(!violation(space, s, wholes, g.nodes()[n].outputs));
      std::vector<ParallelShape> inputs;
      for (std::size_t i = 0; i < wholes.size(); ++i) inputs.push_back(input_shape(space, s, i, wholes[i]));
      RC_ASSERT(infer_sharding(space, inputs) == s);
    }
  }));
}

TEST_CASE("layouts that do not belong together are refused") {
  const std::vector<TensorShape> wholes{real({8, 6}), real({6, 12})};
  const IterationSpace space = iteration_space(Linear{.out = 12}, wholes);
  const ParallelShape x{.dims = {{8, 2}, {6, 1}}}, w = unsharded(wholes[1]);
  auto copies = [](ParallelShape s, int n) {
    s.copy = n;
    return s;
  };
  auto infer = [&](const ParallelShape& a, const ParallelShape& b) { return infer_sharding(space, std::vector{a, b}); };
  CHECK(infer(x, copies(w, 2)) == Sharding{.degrees = {2, 1, 1}});
  CHECK(infer(copies(x, 3), copies(w, 6)) == Sharding{.degrees = {2, 1, 1}, .copies = 3});
  CHECK(!infer(x, w));             // rows are cut, so w must be there twice
  CHECK(!infer(x, copies(w, 3)));  // not three times
  ParallelShape partial = x;
  partial.sum = 2;
  CHECK(infer(partial, copies(w, 4)) == Sharding{.degrees = {2, 1, 1}, .copies = 1, .sums = 2, .through = 0});
  CHECK(!infer_sharding(space, std::vector{x}));
}

}  // namespace
}  // namespace pcg
