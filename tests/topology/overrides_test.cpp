// Keys beside `preset:`, nested or as paths.
#include <doctest/doctest.h>

#include "base/yaml/emit.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "clusters.hpp"
#include "topology/load.hpp"

using namespace topology_test;

TEST_CASE("a path beside a preset replaces one figure") {
  const auto c = cluster_of("{preset: summit, nodes: 2, links.infiniband.bandwidth: 50 GB/s, links.pcie.bandwidth: 4x}");
  CHECK(c.nodes() == 2);
  CHECK(c.route(gpu(0), gpu(6)).bandwidth == base::BytesPerSecond(50e9));
}

TEST_CASE("nested keys say the same as paths") {
  const auto nested = cluster_of("{preset: summit, nodes: 2, links: {infiniband: {bandwidth: 1 GB/s}}}");
  const auto path = cluster_of("{preset: summit, nodes: 2, links.infiniband.bandwidth: 1 GB/s}");
  CHECK(route_text(nested, 0, 6) == route_text(path, 0, 6));
  CHECK(nested.route(gpu(0), gpu(6)).bandwidth == base::BytesPerSecond(1e9));
}

TEST_CASE("fewer GPUs than the preset has: wires to the others go") {
  const auto c = cluster_of("{preset: summit, nodes: 2, node.gpus.count: 4}");
  CHECK(c.device_count() == 8);
  CHECK(route_text(c, 0, 3) == "node0:gpu0->cpu0, node0:cpu0->cpu1, node0:cpu1->gpu3 at 50 GB/s in 3.2 us");
  CHECK(cluster_of("{preset: dgx-a100-80gb, node.gpus.count: 1}").device_count() == 1);
}

TEST_CASE("another GPU, its memory, and keys that the preset leaves out") {
  const auto c =
      cluster_of("{preset: dgx-1v, nodes: 2, node.gpus.type: v100-sxm2-16gb, node.gpus.memory: 6 GiB, network.oversubscription: 2}");
  CHECK(c.device(gpu(0)).type == "v100-sxm2-16gb");
  CHECK(c.device(gpu(0)).memory->value() == 6.0 * 1024 * 1024 * 1024);
}

TEST_CASE("an expanded section can be patched, and expanded again without a change") {
  base::Diagnostics sink;
  auto section = topology::expand_cluster(base::parse_yaml("{preset: summit, nodes: 2}", "c.yaml"), "cluster");
  CHECK(base::emit_yaml(topology::expand_cluster(section, "cluster")) == base::emit_yaml(section));
  base::patch_yaml(section, "nodes", base::parse_yaml("2x", "w.yaml"), sink, "set");
  base::patch_yaml(section, "node.gpus.count", base::parse_yaml("3", "w.yaml"), sink, "set");
  REQUIRE(sink.empty());
  const auto c = topology::load_cluster(section, "cluster");
  CHECK(c.nodes() == 4);
  CHECK(c.device_count() == 12);
}

TEST_CASE("node_types beside a preset stand instead of its node") {
  const auto c = cluster_of(
      "{preset: pcie-v100, node_types: [{count: 2, gpus: {type: t, count: 1}, components: [nic0], wires: [{between: [gpu0, nic0], link: "
      "pcie}]}]}");
  CHECK(c.device_count() == 2);
}
