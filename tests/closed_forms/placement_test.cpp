// What a run says of where its plan lies: groups that leave their domain, links with a part left, switches that reduce, ZeRO alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "planning.hpp"

namespace {

topology::Cluster cluster_of(const std::string& section) {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(section, "test"), "cluster"), "cluster");
}

std::vector<base::Fact> notes(const search::GridConfig& config, const topology::Cluster& cluster, test::Shape s = {}) {
  s.batch = 16;
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

TEST_CASE("a ZeRO stage with one replica shares nothing out") {
  CHECK(has(notes({.tensor = 8, .zero = 1}, test::dgx_a100()), base::Fact("zero-unused", 1)));
  CHECK_FALSE(has(notes({.tensor = 4, .zero = 1}, test::dgx_a100()), "zero-unused"));
}

TEST_CASE("an all-reduce in switches is noted, and switched off is not") {
  CHECK(has(notes({}, cluster_of("{preset: dgx-h100}"), {.hidden = 4096}), "reduced-in-switch"));
  CHECK_FALSE(has(notes({}, cluster_of("{preset: dgx-h100, in_network: false}"), {.hidden = 4096}), "reduced-in-switch"));
  CHECK_FALSE(has(notes({}, test::dgx_a100(), {.hidden = 4096}), "reduced-in-switch"));
}
