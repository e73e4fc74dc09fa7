// Steps of the local search through Megatron's grid.
#include "search/planners/megatron/moves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "problem.hpp"
#include "search/planners/megatron/megatron.hpp"

using search::ContextKind;
using search::GridConfig;

namespace {

using pcg::Framework;

// Of two nodes with 8 GPUs each, for a model of 8 layers.
search::MoveScope scope(Framework framework, std::int64_t experts = 1) {
  return {.framework = framework, .domain_devices = 8, .batch = 16, .layers = 8, .experts = experts};
}

std::size_t choices(const GridConfig& c, Framework framework, pcg::Precision precision = pcg::Precision::bf16) {
  search::MoveScope of = scope(framework);
  of.precision = precision;
  return search::other_choices(c, of).size();
}

}  // namespace

TEST_CASE("choices that a plan leaves open and its framework has") {
  CHECK(choices({}, Framework::generic) == 0);
  CHECK(choices({}, Framework::deepspeed) == 0);
  CHECK(choices({.pipeline = 4}, Framework::generic) == 2);  // zero bubbles and DualPipe
  CHECK(choices({.pipeline = 3}, Framework::generic) == 1);  // DualPipe pairs stages
  CHECK(choices({.pipeline = 4}, Framework::megatron) == 0);
  CHECK(choices({.pipeline = 4, .chunks = 2}, Framework::generic) == 1);  // breadth-first
  // deepep and hybridep, experts overlapped or shared by no tensor ranks, tensor exchanges overlapped, weights gathered later.
  CHECK(choices({.tensor = 2, .expert = 2, .sequence_parallel = true, .zero = 1}, Framework::megatron) == 6);
  CHECK(choices({.zero = 3}, Framework::megatron) == 0);
  CHECK(choices({.recompute = pcg::Recompute::full}, Framework::megatron) == 1);  // 4 layers of 8
  CHECK(choices({}, Framework::megatron, pcg::Precision::fp8) == 1);
  CHECK(choices({}, Framework::deepspeed, pcg::Precision::fp8) == 0);
}

TEST_CASE("groups that shard for themselves lie within a domain, or are half of all") {
  // Of 64 that hold a weight beside tensor 2: groups of 4 within the 8 GPUs of a domain, and of 32.
  std::set<int> shards;
  for (const GridConfig& c : search::other_choices({.tensor = 2, .data = 64, .zero = 3}, scope(Framework::megatron)))
    shards.insert(c.shard);
  CHECK(shards == std::set{4, 32});
}

TEST_CASE("ranks of context ring, gather, exchange heads, or ring over exchanges of heads") {
  std::vector<std::pair<ContextKind, int>> kinds;
  for (const GridConfig& c : search::other_choices({.context = 8}, scope(Framework::pytorch)))
    kinds.emplace_back(c.context_kind, c.context_all_to_all);
  CHECK(kinds == std::vector<std::pair<ContextKind, int>>{
                     {ContextKind::ulysses, 1}, {ContextKind::ring, 2}, {ContextKind::ring, 4}, {ContextKind::gather, 1}});
}

TEST_CASE("a neighbour has as many devices, divides the batch, and means what it says") {
  GridConfig c{.tensor = 2, .pipeline = 2, .data = 4, .context = 1, .expert = 4, .chunks = 2, .micro_batch = 1};
  c.schedule = pcg::ScheduleKind::interleaved;
  c.sequence_parallel = true;
  c.dispatch = pcg::Dispatch::forwarded;
  c.overlap.experts = true;
  const search::MoveScope of = scope(Framework::megatron, 4);
  const std::vector<GridConfig> all = search::neighbours(c, of);
  CHECK(std::ranges::none_of(all, [&](const GridConfig& n) { return n == c; }));
  for (const GridConfig& n : all) {
    CHECK(n.tensor * n.pipeline * n.data * n.context == 16);
    CHECK(of.batch % (n.data * n.micro_batch) == 0);
    CHECK(n.data * n.context % n.expert == 0);
    CHECK((n.tensor > 1 || !n.sequence_parallel));
    CHECK((n.expert > 1 || (n.dispatch == pcg::Dispatch::all_to_all && !n.overlap.experts)));
    CHECK((n.pipeline > 1 || (n.chunks == 1 && n.schedule == pcg::ScheduleKind::one_f_one_b)));
    CHECK((n.chunks > 1) == (n.schedule == pcg::ScheduleKind::interleaved));
  }
  const auto has = [&](auto is_it) { return std::ranges::any_of(all, is_it); };
  CHECK(has([](const GridConfig& n) { return n.tensor == 4 && n.data == 2; }));
  CHECK(has([](const GridConfig& n) { return n.context == 2 && n.tensor == 1; }));
  CHECK(has([](const GridConfig& n) { return n.pipeline == 4 && n.data == 2 && n.chunks == 2; }));
  CHECK(has([](const GridConfig& n) { return n.expert == 2 && n.dispatch == pcg::Dispatch::forwarded; }));
  CHECK(has([](const GridConfig& n) { return n.micro_batch == 2; }));
  CHECK(has([](const GridConfig& n) { return n.chunks == 3; }));
  CHECK(has([](const GridConfig& n) { return n.balanced_stages; }));
}

TEST_CASE("points exchange in the ways that their framework and their schedule have") {
  const auto exchanges = [](const GridConfig& c, Framework framework) { return search::exchanges(c, scope(framework, 4)); };
  GridConfig c{.tensor = 2, .pipeline = 2, .data = 4, .expert = 4, .micro_batch = 1};
  c.sequence_parallel = true;
  CHECK(exchanges(c, Framework::deepspeed) == std::vector{c});
  GridConfig in_sequence = c;
  in_sequence.dispatch = pcg::Dispatch::forwarded_sorted;
  in_sequence.overlap.tensor = true;
  GridConfig overlapped = in_sequence;
  overlapped.overlap.experts = true;
  CHECK(exchanges(c, Framework::megatron) == std::vector{in_sequence, overlapped});
  c.micro_batch = 4;  // one for each replica: there is no other to overlap with
  in_sequence.micro_batch = 4;
  CHECK(exchanges(c, Framework::megatron) == std::vector{in_sequence});
  // A neighbour that is the first to share the experts out comes with both, but where the schedule merges passes in its own way.
  const auto overlaps = [](const GridConfig& from) {
    const std::vector<GridConfig> all = search::neighbours(from, scope(Framework::generic, 4));
    return std::ranges::any_of(all, [](const GridConfig& n) { return n.expert > 1 && n.overlap.experts == true; });
  };
  GridConfig dense{.pipeline = 2, .data = 8, .micro_batch = 1};
  CHECK(overlaps(dense));
  dense.schedule = pcg::ScheduleKind::dual_pipe;
  dense.micro_batch = 2;
  CHECK(std::ranges::none_of(search::neighbours(dense, scope(Framework::generic, 4)),
                             [](const GridConfig& n) { return n.schedule == pcg::ScheduleKind::dual_pipe && n.overlap.experts; }));
}

TEST_CASE("the search makes choices that the grid leaves out, each on those before it") {
  // A slow network, over which tokens of four experts are exchanged: what the framework offers for it pays.
  test::Question q(
      "{transformer: {layers: 2, hidden: 512, heads: 4, ffn: 1024, vocab: 512, sequence_length: 256, causal: true, "
      "attention: flash, experts: 4, top_k: 2}}",
      2, 2, 16);
  q.training.framework = Framework::megatron_core;
  const search::SearchResult r = search::megatron_search(q.problem(), {}, {});
  REQUIRE(r.best);
  search::GridPlanner planner(q.problem());
  for (const int expert : {1, 2, 4})
    for (const pcg::Dispatch dispatch : {pcg::Dispatch::all_to_all, pcg::Dispatch::forwarded})
      for (const int zero : {0, 1})
        for (const std::int64_t micro_batch : {1, 2, 4}) {
          if (expert == 1 && dispatch != pcg::Dispatch::all_to_all) continue;
          const GridConfig c{.expert = expert, .micro_batch = micro_batch, .zero = zero, .dispatch = dispatch};
          CHECK(*r.objective <= 1.01 * q.oracle.plan(search::megatron_plan(planner, c).value()).iteration_time);
        }
}
