// Keys beside `preset:`, nested or as paths.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "clusters.hpp"
#include "topology/load.hpp"

using namespace topology_test;

TEST_CASE("a cluster may be another file's, with keys beside it that override what is there") {
  const auto folder = std::filesystem::temp_directory_path() / ("foreshard-overrides-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto written = [&](const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; };
  written("own.yaml", "foreshard: 1\ncluster: {preset: summit, nodes: 2}\n");
  written("again.yaml", "foreshard: 1\ncluster: {file: own.yaml}\n");
  const auto expanded = [&](const std::string& section) {
    return topology::expand_cluster(base::parse_yaml(section, "c.yaml"), "cluster", folder);
  };
  const auto equals = [&](const std::string& section, const std::string& preset) {
    CHECK(base::emit_yaml(expanded(section)) == base::emit_yaml(expanded(preset)));
  };
  equals("{file: own.yaml}", "{preset: summit, nodes: 2}");
  equals("{file: own.yaml, nodes: 2x, links.infiniband.bandwidth: 0.5x}", "{preset: summit, nodes: 4, links.infiniband.bandwidth: 0.5x}");
  CHECK_THROWS_WITH_AS((void)expanded("{file: own.yaml, preset: summit}"), doctest::Contains("has a preset, too"), base::InputError);
  CHECK_THROWS_WITH_AS((void)expanded("{file: again.yaml}"), doctest::Contains("itself another file's"), base::InputError);
  CHECK_THROWS_WITH_AS((void)expanded("{file: none.yaml}"), doctest::Contains("none.yaml"), base::InputError);
  std::filesystem::remove_all(folder);
}

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

TEST_CASE("a range of names is one wire each, side by side with another range") {
  const std::string head =
      "{nodes: 2, links: {pcie: {bandwidth: 10 GB/s, latency: 1 us}, ib: {bandwidth: 5 GB/s, latency: 1 us}}, network: {type: switch, "
      "link: "
      "ib}, ";
  const auto said =
      cluster_of(head +
                 "node: {gpus: {type: v100-sxm2-16gb, count: 2}, components: [cpu0, nic0, nic1], wires: [{between: [gpu0, cpu0], link: "
                 "pcie}, {between: [gpu1, cpu0], link: pcie}, {between: [gpu0, nic0], link: pcie}, {between: [gpu1, nic1], link: pcie}]}}");
  const auto ranged =
      cluster_of(head +
                 "node: {gpus: {type: v100-sxm2-16gb, count: 2}, components: [cpu0, \"nic[0-1]\"], wires: [{between: [\"gpu[0-1]\", "
                 "cpu0], link: pcie}, {between: [\"gpu[0-1]\", \"nic[0-1]\"], link: pcie}]}}");
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b)
      if (a != b) CHECK(route_text(said, a, b) == route_text(ranged, a, b));
  const auto problem_of = [&](const std::string& wires) {
    try {
      (void)cluster_of(head + "node: {gpus: {type: v100-sxm2-16gb, count: 2}, components: [cpu0, nic0, nic1], wires: " + wires + "}}");
    } catch (const base::InputError& e) { return e.diagnostics().front().message; }
    return std::string();
  };
  CHECK(problem_of("[{between: [\"gpu[0-1]\", \"nic[0-2]\"], link: pcie}]") == "the node has no \"nic2\"");
  CHECK(problem_of("[{between: [\"gpu[1-0]\", cpu0], link: pcie}]") == "\"gpu[1-0]\" is no range of names");
  CHECK(problem_of("[{all_pairs: [\"gpu[0-1]\", gpu1, cpu0], link: pcie}]") == "\"gpu1\" is there twice");
}
