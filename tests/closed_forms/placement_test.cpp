// What a run says of where its plan lies: groups that leave their domain, links with a part left, switches that reduce, ZeRO alone.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "planning.hpp"

namespace {

topology::Cluster cluster_of(const std::string& section) {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(section, "test"), "cluster"), "cluster");
}

std::vector<base::Fact> notes(const search::GridConfig& config, const topology::Cluster& cluster, test::Shape s = {}, int batch = 16) {
  s.batch = batch;
  return sim::simulate_plan(test::megatron(s, config, cluster), cluster, {}).notes;
}

bool has(const std::vector<base::Fact>& notes, const base::Fact& fact) { return std::ranges::find(notes, fact) != notes.end(); }
bool has(const std::vector<base::Fact>& notes, const std::string& code) {
  return std::ranges::find(notes, code, &base::Fact::code) != notes.end();
}

}  // namespace

TEST_CASE("a tensor group that is larger than a domain is noted with both sizes") {
  const auto two = test::dgx_a100(2, 4);
  CHECK(has(notes({.tensor = 8}, two), base::Fact("group-crosses-domains", "tensor", 8, 8, 4)));
  CHECK(has(notes({.tensor = 8, .sequence_parallel = true}, two), base::Fact("group-crosses-domains", "tensor", 8, 8, 4)));
  // Groups of four have a node each; data-parallel and pipeline ranks are expected to be apart.
  for (const search::GridConfig& inside : {search::GridConfig{.tensor = 4}, search::GridConfig{.tensor = 4, .pipeline = 2}})
    for (const base::Fact& f : notes(inside, two)) CHECK_FALSE(f.code.starts_with("group-crosses"));
}

TEST_CASE("a group that a domain would hold is noted where it lies across two, with the segment that keeps groups whole") {
  // Six nodes of four GPUs in two domains of twelve: the second group of eight has four GPUs in each. Two nodes of a domain hold one group.
  const auto racks = cluster_of("{preset: gb200-nvl72, nodes: 6, node.domain.nodes: 3}");
  CHECK(has(notes({.tensor = 8}, racks, {}, 12), base::Fact("group-crosses-segments", "tensor", 8, 12, 2)));
  const auto even = cluster_of("{preset: gb200-nvl72, nodes: 6, node.domain.nodes: 3, node.domain.segment: 2}");
  for (const base::Fact& f : notes({.tensor = 8}, even, {}, 12)) CHECK_FALSE(f.code.starts_with("group-crosses"));
}

TEST_CASE("of links with a part left the narrowest is noted, and how many others there are") {
  const auto worn = [](double left) {
    return cluster_of(
        fmt::format("{{preset: dgx-a100-80gb, faults: [{{node: 0, between: [gpu0, switch0], left: {}}}, {{node: 0, between: [gpu3, "
                    "switch0], left: 0.75}}]}}",
                    left));
  };
  CHECK(has(notes({}, worn(0.25)), base::Fact("partial-link", 0.25, "node0:gpu0->switch0", 3)));  // two wires, both ways
  CHECK(has(notes({}, worn(1)), base::Fact("partial-link", 0.75, "node0:switch0->gpu3", 1)));
  CHECK_FALSE(has(notes({}, test::dgx_a100()), "partial-link"));
}

TEST_CASE("a ZeRO stage with one replica shares nothing out") {
  CHECK(has(notes({.tensor = 8, .zero = 1}, test::dgx_a100()), base::Fact("zero-unused", 1)));
  CHECK_FALSE(has(notes({.tensor = 4, .zero = 1}, test::dgx_a100()), "zero-unused"));
}

TEST_CASE("an all-reduce in switches is noted, and switched off is not") {
  CHECK(has(notes({}, cluster_of("{preset: dgx-h100}"), {.hidden = 4096}), "reduced-in-switch"));
  CHECK_FALSE(has(notes({}, cluster_of("{preset: dgx-h100, in_network: false}"), {.hidden = 4096}), "reduced-in-switch"));
  CHECK_FALSE(has(notes({}, test::dgx_a100(), {.hidden = 4096}), "reduced-in-switch"));
}
