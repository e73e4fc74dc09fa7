// Parts that stages are made of, where a graph has no operator that every path goes through.
#include "search/solve/stages/stage_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "../problem.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "search/planners/alpa/alpa.hpp"

namespace {

pcg::TensorShape samples_of(std::int64_t size) { return {{32, size}, pcg::Element::real}; }

// Two towers of so many blocks, each with a layer of either, which are added at the end.
pcg::Graph towers_in_blocks(int blocks) {
  pcg::GraphBuilder g("towers in blocks");
  pcg::GraphTensorRef a, b;
  for (int l = 0; l < blocks; ++l) {
    g.begin_block(fmt::format("layer {}", l));
    if (l == 0) a = g.input("a", samples_of(64));
    a = g.add(fmt::format("a{}", l), pcg::Linear{.out = 64}, {a});
    if (l == 0) b = g.input("b", samples_of(64));
    b = g.add(fmt::format("b{}", l), pcg::Linear{.out = 64}, {b});
  }
  g.begin_weightless_block("head");
  g.add("sum", pcg::Binary{pcg::Binary::Kind::add}, {a, b});
  return std::move(g).build();
}

// A chain of blocks, of which the last three read what the first one made, as a decoder reads an encoder.
pcg::Graph with_a_memory() {
  pcg::GraphBuilder g("with a memory");
  g.begin_block("encoder");
  const auto x = g.input("x", samples_of(64));
  const auto memory = g.add("encoder.out", pcg::Linear{.out = 64}, {x});
  pcg::GraphTensorRef y = memory;
  for (int l = 0; l < 3; ++l) {
    g.begin_block(fmt::format("decoder {}", l));
    const auto z = g.add(fmt::format("up{}", l), pcg::Linear{.out = 64}, {y});
    y = g.add(fmt::format("add{}", l), pcg::Binary{pcg::Binary::Kind::add}, {z, memory});
  }
  return std::move(g).build();
}

search::SearchResult pipeline_of_single_gpus(test::Question& q, pcg::Graph model) {
  q.model = std::move(model);
  return search::alpa_search(q.problem(), search::AlpaSpace::stages_alone, {}, {});
}

}  // namespace

TEST_CASE("parts end behind blocks where no operator is on every path") {
  const pcg::Graph graph = towers_in_blocks(4);
  const search::PartsConfig finest{.fewest = 1};
  CHECK(search::stage_parts(graph, pcg::Precision::fp32, finest).size() == 1);
  const auto parts = search::stage_parts(graph, pcg::Precision::fp32, finest, search::PartEnds::blocks);
  REQUIRE(parts.size() == 5);
  for (std::size_t p = 1; p < parts.size(); ++p) CHECK(graph.nodes()[parts[p].first.value()].name == fmt::format("b{}", p - 1));
  // Two operators a layer, where they are counted in place of blocks.
  const search::PartsConfig pairs{.by = search::Clustering::equal_operators, .layers = 2};
  CHECK(search::stage_parts(graph, pcg::Precision::fp32, pairs, search::PartEnds::blocks).at(0).operators.size() == 4);
}

TEST_CASE("towers beside each other and memories that are read far away make pipelines of single GPUs") {
  for (const pcg::Graph& model : {towers_in_blocks(4), with_a_memory()}) {
    CAPTURE(model.name());
    test::Question q("{builtin: mlp-mnist}", 2, 2, 32);
    const search::SearchResult r = pipeline_of_single_gpus(q, model);
    REQUIRE(r.best);
    CHECK(r.best->stages == 4);
    CHECK(pcg::violations(*r.best).empty());
    CHECK(pcg::check_equivalence(*r.best, q.model, 3, 1).equivalent);
  }
}

TEST_CASE("few micro-batches of heavy weights go through more stages than there are of them") {
  // 64 MiB of weights in each of four blocks: what a micro-batch takes is reading these, so that one is the best for four stages.
  pcg::GraphBuilder g("weights alone");
  auto x = g.input("x", samples_of(4096));
  for (int l = 0; l < 4; ++l) {
    g.begin_block(fmt::format("layer {}", l));
    x = g.add(fmt::format("linear{}", l), pcg::Linear{.out = 4096}, {x});
  }
  test::Question q("{builtin: mlp-mnist}", 2, 2, 32);
  const search::SearchResult r = pipeline_of_single_gpus(q, std::move(g).build());
  REQUIRE(r.best);
  CHECK(r.best->stages == 4);
  CHECK(r.best->micro_batches == 1);
}
