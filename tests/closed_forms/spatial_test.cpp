// Bytes that cutting an image by rows moves: the halos that windows reach over.
#include <doctest/doctest.h>

#include "pcg/graph/pcg.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/work/work.hpp"
#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

using pcg::GraphTensorRef;

// Two convolutions, 3 x 3 and 5 x 5, by `rows` blocks of rows on as many devices.
pcg::Plan plan(int rows, int micro_batches = 1, std::int64_t samples = 4) {
  pcg::GraphBuilder b("images");
  const GraphTensorRef x = b.input("x", {.sizes = {samples, 8, 32, 24}, .element = pcg::Element::real});
  const GraphTensorRef first =
      b.add("first", pcg::Conv2d{.out = 16, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}}, {x});
  b.add("second", pcg::Conv2d{.out = 8, .rows = {.kernel = 5, .padding = 2}, .columns = {.kernel = 5, .padding = 2}}, {first});
  const pcg::Graph g = std::move(b).build();
  std::vector<pcg::Sharding> shardings;
  for (const pcg::GraphNode& n : g.nodes()) {
    shardings.push_back(pcg::unsharded(*n.space));
    if (std::holds_alternative<pcg::Weight>(n.op)) continue;
    shardings.back().degrees[static_cast<std::size_t>(pcg::find_loop(*n.space, n.inputs.empty() ? "d2" : "h"))] = rows;
  }
  pcg::Plan p;
  p.pcg = pcg::parallelize(g, shardings);
  p.gpus = rows;
  p.micro_batches = micro_batches;
  p.training.global_batch = samples * micro_batches;
  for (const pcg::PcgNode& n : p.pcg.nodes()) {
    p.mapping.emplace_back();
    if (n.computes() && rows > 1) p.mapping.back().strides = {1};
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

TEST_CASE("rows of samples are sent when the micro-batch before is done: each adds as much") {
  constexpr std::int64_t kMany = 1024;  // samples, so that no kernel waits for its launch
  const auto simulated = [](int micro_batches) { return sim::simulate_plan(plan(4, micro_batches, kMany), test::dgx_a100(1, 4), {}); };
  const double one = simulated(1).iteration_time.value(), two = simulated(2).iteration_time.value();
  CHECK(simulated(3).iteration_time.value() - two == test::about(two - one, 1e-9));
  const sim::SimulationResult many = simulated(256);
  CHECK(many.iteration_time.value() == test::about(one + 255 * (two - one), 1e-9));
  CHECK(many.simulated_micro_batches.value_or(256) < 16);
}

TEST_CASE("halos are kept for the backward pass: of a device between two others, those of both sides") {
  const auto activations = [](int rows) { return sim::memory_of(plan(rows), test::dgx_a100(1, 8)).activations.value(); };
  const double row = 4 * 24 * 4, images = (8 + 16) * 32 * row;  // x and what `first` makes
  CHECK(activations(1) == images);
  CHECK(activations(2) == images / 2 + (8 * 1 + 16 * 2) * row);
  CHECK(activations(4) == images / 4 + (8 * 2 + 16 * 4) * row);
  CHECK(activations(8) == images / 8 + (8 * 2 + 16 * 4) * row);
}

TEST_CASE("kernels read the halos too; a window that steps over what is behind reads none of it") {
  const auto read = [](const pcg::Conv2d& conv, int rows, int columns) {
    const std::vector<pcg::TensorShape> inputs{{.sizes = {2, 8, 32, 24}}, {.sizes = {16, 8, conv.rows.kernel, conv.columns.kernel}}};
    const pcg::IterationSpace space = pcg::iteration_space(conv, inputs);
    pcg::Sharding s = pcg::unsharded(space);
    s.degrees[static_cast<std::size_t>(pcg::find_loop(space, "h"))] = rows;
    s.degrees[static_cast<std::size_t>(pcg::find_loop(space, "w"))] = columns;
    const auto shards = pcg::shards_with_halos(conv, space, s, inputs);
    CHECK(shards[1] == inputs[1]);
    return shards[0].sizes;
  };
  using Sizes = std::vector<std::int64_t>;
  const pcg::Conv2d same{.out = 16, .rows = {.kernel = 5, .padding = 2}, .columns = {.kernel = 3, .padding = 1}};
  CHECK(read(same, 1, 1) == Sizes{2, 8, 32, 24});
  CHECK(read(same, 2, 1) == Sizes{2, 8, 16 + 2, 24});
  CHECK(read(same, 4, 2) == Sizes{2, 8, 8 + 4, 12 + 1});
  CHECK(read({.out = 16, .rows = {.kernel = 3, .stride = 2, .padding = 1}, .columns = {.kernel = 3, .stride = 2, .padding = 1}}, 4, 4) ==
        Sizes{2, 8, 8 + 1, 6 + 1});
  CHECK(read({.out = 16, .rows = {.kernel = 2, .stride = 2}, .columns = {.kernel = 2, .stride = 2}}, 4, 2) == Sizes{2, 8, 8, 12});
  // Bytes of the forward kernel of `second` in the plan by four: its shard with halos, its weight, what it makes.
  const pcg::Plan p = plan(4);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    if (node.name != "second") continue;
    const pcg::NodeId id(n);
    const auto shards = pcg::shards_with_halos(*node.operation(), *node.space, node.sharding, p.pcg.whole_inputs(id));
    const auto kernels = pcg::forward_kernels(*node.operation(), shards, p.pcg.shard_outputs(id), pcg::Precision::fp32);
    CHECK(kernels.at(0).bytes.value() == 4.0 * (4 * 16 * (8 + 4) * 24 + 8 * 16 * 5 * 5 + 4 * 8 * 8 * 24));
  }
}
