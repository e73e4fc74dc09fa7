// What-ifs that are loaded where they are looked at.
#include "scenarios/question/variant.hpp"

#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "scenario_text.hpp"

TEST_CASE("a what-if is loaded anew each time, and shares with the base what it leaves alone") {
  const auto s =
      test::load(test::kTwoGpus +
                 "plans: [data-parallel]\nwhat_if:\n  - {name: faster, set: {cluster.links.wire.bandwidth: 2x}}\n  - {name: more, "
                 "set: {training.batch_per_gpu: 64}}\n");
  REQUIRE(s.variants.size() == 3);
  CHECK(s.variants[0].name == scenarios::kBaseName);
  CHECK(s.variants.load(0).cluster == s.base().cluster);
  const scenarios::Variant faster = s.variants.load(1), more = s.variants.load(2);
  CHECK(faster.cluster->links()[0].bandwidth == 2 * s.base().cluster->links()[0].bandwidth);
  CHECK(faster.model == s.base().model);
  CHECK(more.cluster == s.base().cluster);
  CHECK(more.training.global_batch == 128);
  CHECK(base::emit_yaml(s.variants.document(1)) == base::emit_yaml(faster.document));
  CHECK(s.variants.load(1).cluster->links()[0].bandwidth == faster.cluster->links()[0].bandwidth);
}

TEST_CASE("many variants leave few clusters behind, and the base's stays") {
  std::string values;
  for (int i = 1; i <= 20; ++i) values += (i == 1 ? "" : ", ") + std::to_string(i) + " GB/s";
  const auto s = test::load(test::kTwoGpus + "plans: [data-parallel]\nwhat_if: [{name: s, sweep: {cluster.links.wire.bandwidth: [" +
                            values + "]}}]\n");
  REQUIRE(s.variants.size() == 21);
  std::vector<std::weak_ptr<const topology::Cluster>> seen;
  for (std::size_t i = 0; i < s.variants.size(); ++i) seen.push_back(s.variants.load(i).cluster);
  int alive = 0;
  for (const auto& cluster : seen) alive += cluster.expired() ? 0 : 1;
  CHECK(alive <= 4);  // 1 GB/s is the base's
  CHECK(s.variants.load(1).cluster == s.base().cluster);
}
