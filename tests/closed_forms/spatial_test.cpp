// Bytes that cutting an image by rows moves: the borders that windows reach over.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/simulation.hpp"

namespace {

using pcg::TensorRef;

// Two convolutions, 3 x 3 and 5 x 5, by `rows` blocks of rows on as many devices.
pcg::Plan plan(int rows) {
  pcg::GraphBuilder b("images");
  const TensorRef x = b.input("x", {.sizes = {4, 8, 32, 24}, .element = pcg::Element::real});
  const TensorRef first = b.add("first", pcg::Conv2d{.out = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {x});
  b.add("second", pcg::Conv2d{.out = 8, .kernel_h = 5, .kernel_w = 5, .pad_h = 2, .pad_w = 2}, {first});
  const pcg::Graph g = std::move(b).build();
  std::vector<pcg::Sharding> shardings;
  for (const pcg::GraphNode& n : g.nodes()) {
    std::vector<pcg::TensorShape> inputs;
    for (TensorRef t : n.inputs) inputs.push_back(g.shape(t));
    const pcg::IterationSpace space = pcg::iteration_space(n.op, inputs);
    shardings.push_back(pcg::unsharded(space));
    if (std::holds_alternative<pcg::Weight>(n.op)) continue;
    shardings.back().degrees[static_cast<std::size_t>(pcg::find_loop(space, inputs.empty() ? "d2" : "h"))] = rows;
  }
  pcg::Plan p;
  p.pcg = pcg::parallelize(g, shardings);
  p.gpus = rows;
  p.training.global_batch = 4;
  for (const pcg::PcgNode& n : p.pcg.nodes()) {
    p.mapping.emplace_back();
    if (n.computes()) p.mapping.back().strides = {1};
    p.stage.push_back(0);
  }
  return p;
}

}  // namespace

TEST_CASE("rows of images: floor(k / 2) rows each way between neighbours, forward and, where the input has a gradient, backward") {
  for (int rows : {2, 4, 8}) {
    const topology::Cluster cluster = test::dgx_a100(1, rows);
    const pcg::Plan p = plan(rows);
    CHECK(pcg::violations(p).empty());
    auto bytes = sim::simulate_plan(p, cluster, {}).bytes.by_collective;
    const double neighbours = 2.0 * (rows - 1), row = 4 * 24 * 4;  // both ways; samples, columns, bytes of a number
    const double first = 8 * row, second = 16 * 2 * row;           // channels times rows
    CHECK(bytes["send"].value() == neighbours * (first + 2 * second));
  }
}
