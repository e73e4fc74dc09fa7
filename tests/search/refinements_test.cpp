// Choices that are made for the grid's best plan alone.
#include "search/planners/megatron/ranking.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using search::ContextKind;
using search::GridConfig;

namespace {

std::vector<std::string> open_choices(const GridConfig& c, pcg::Framework framework, pcg::Precision precision = pcg::Precision::bf16) {
  std::vector<std::string> names;
  for (const search::Refinement& r : search::refinements_of(c, {.framework = framework, .precision = precision}))
    if (!r.values.empty()) names.push_back(r.what);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("choices that a plan leaves open and its framework has") {
  CHECK(open_choices({}, pcg::Framework::generic).empty());
  CHECK(open_choices({}, pcg::Framework::deepspeed).empty());
  CHECK(open_choices({.pipeline = 4}, pcg::Framework::generic) == Names{"schedule"});
  CHECK(open_choices({.pipeline = 4}, pcg::Framework::megatron).empty());
  CHECK(open_choices({.pipeline = 4, .chunks = 2}, pcg::Framework::generic) == Names{"schedule"});
  CHECK(open_choices({.pipeline = 4, .chunks = 2}, pcg::Framework::megatron).empty());
  CHECK(open_choices({.tensor = 2, .expert = 2, .sequence_parallel = true, .zero = 1}, pcg::Framework::megatron) ==
        Names{"dispatch", "expert_tensor", "overlap tensor", "overlap parameters", "overlap experts"});
  CHECK(open_choices({.zero = 3}, pcg::Framework::megatron).empty());
  CHECK(open_choices({.recompute = pcg::Recompute::full}, pcg::Framework::megatron) == Names{"recompute"});
  CHECK(open_choices({}, pcg::Framework::megatron, pcg::Precision::fp8) == Names{"weights"});
  CHECK(open_choices({}, pcg::Framework::deepspeed, pcg::Precision::fp8).empty());
}

TEST_CASE("groups that shard for themselves lie within a domain, or are half of all") {
  // Of 64 that hold a weight beside tensor 2: groups of 4 within the 8 GPUs of a domain, and of 32.
  const auto all =
      search::refinements_of({.tensor = 2, .data = 64, .zero = 3}, {.framework = pcg::Framework::megatron, .domain_devices = 8});
  const auto shards = std::ranges::find(all, "shard", &search::Refinement::what);
  REQUIRE(shards != all.end());
  REQUIRE(shards->values.size() == 2);
  CHECK(shards->values[0].shard == 4);
  CHECK(shards->values[1].shard == 32);
}

TEST_CASE("ranks of context ring, gather, exchange heads, or ring over exchanges of heads") {
  const auto all = search::refinements_of({.context = 8}, {.framework = pcg::Framework::pytorch});
  const auto exchanges = std::ranges::find(all, "context_kind", &search::Refinement::what);
  REQUIRE(exchanges != all.end());
  std::vector<std::pair<ContextKind, int>> kinds;
  for (const GridConfig& c : exchanges->values) kinds.emplace_back(c.context_kind, c.context_all_to_all);
  CHECK(kinds == std::vector<std::pair<ContextKind, int>>{
                     {ContextKind::ulysses, 1}, {ContextKind::ring, 2}, {ContextKind::ring, 4}, {ContextKind::gather, 1}});
}

TEST_CASE("a choice is changed for what is better by more than a thousandth, and the next one stands on it") {
  GridConfig config{.context = 2, .zero = 1};
  double best = 10;
  const auto seconds = [](const GridConfig& c) -> std::optional<double> {
    if (c.context_kind == ContextKind::gather) return 9.999;  // not enough
    double s = c.context_kind == ContextKind::ulysses ? 9 : 10;
    if (c.overlap.parameters) s -= c.context_kind == ContextKind::ulysses ? 1 : -1;  // worth it beside the other alone
    return s;
  };
  CHECK(search::refine(config, best, {.framework = pcg::Framework::generic}, seconds) == Names{"context_kind", "overlap parameters"});
  CHECK(best == 8);
  GridConfig both{.context = 2, .context_kind = ContextKind::ulysses, .zero = 1};
  both.overlap.parameters = true;
  CHECK(config == both);
}

TEST_CASE("what cannot be built or does not fit is not chosen") {
  GridConfig config{.pipeline = 2, .context = 4};
  double best = 10;
  CHECK(search::refine(config, best, {.framework = pcg::Framework::generic}, [](const GridConfig&) {
          return std::optional<double>();
        }).empty());
  CHECK(best == 10);
  CHECK(config == GridConfig{.pipeline = 2, .context = 4});
}
