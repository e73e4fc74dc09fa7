// Every preset that ships loads and holds together.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "clusters.hpp"
#include "topology/dot.hpp"
#include "topology/load.hpp"
#include "topology/presets.hpp"

using namespace topology_test;

TEST_CASE("the presets that ship") {
  CHECK(fmt::format("{}", fmt::join(topology::preset_names(), " ")) ==
        "aws-p3.16xlarge aws-p4de.24xlarge aws-p5.48xlarge dgx-1v dgx-2 dgx-a100-40gb dgx-a100-80gb dgx-b200 dgx-h100 dgx-h200 pcie-a100 "
        "pcie-v100 summit titan-xp-4");
}

TEST_CASE("every preset loads, as one node and as three, under its own name") {
  for (const auto& name : topology::preset_names()) {
    CAPTURE(name);
    CHECK(topology::load_cluster_argument(name).name() == name);
    const auto c = cluster_of(fmt::format("{{preset: {}, nodes: 3}}", name));
    std::set<std::string> names;
    for (const auto& l : c.links()) names.insert(l.name);
    CHECK(names.size() == c.links().size());  // unique
    CHECK(c.route(gpu(0), gpu(c.device_count() - 1)).bandwidth.value() > 0);
    CHECK(cluster_of(fmt::format("{{preset: {}, nodes: 1}}", name)).device_count() * 3 == c.device_count());
  }
}

TEST_CASE("all of Summit loads in well under a second") {
  const auto start = std::chrono::steady_clock::now();
  const auto c = topology::load_cluster_argument("summit");
  CHECK(c.device_count() == 27648);
  WARN(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));  // 0.06 s here; room for a sanitizer
}

TEST_CASE("a cluster file, and a scenario's cluster, load by path") {
  const auto file = std::filesystem::temp_directory_path() / "foreshard-topology-test.yaml";
  std::ofstream(file) << "foreshard: 1\nname: a scenario\ncluster: {preset: titan-xp-4, nodes: 2}\nplans: [data-parallel]\n";
  CHECK(topology::load_cluster_argument(file.string()).device_count() == 8);
  std::filesystem::remove(file);
}

TEST_CASE("DOT text draws one node and how nodes are joined") {
  const auto c = cluster_of(
      "{name: t, nodes: 2, links: {w: {bandwidth: 1 GB/s, latency: 1 us}}, node: {gpus: {type: x, count: 1}, components: [nic0], wires: "
      "[{between: [gpu0, nic0], link: w, count: 2}]}, network: {type: switch, link: w}}");
  CHECK(to_dot(c) ==
        "graph \"t\" {\n"
        "  node [fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10];\n"
        "  subgraph cluster_0 {\n"
        "    label=\"2 nodes with 1 x x\";\n"
        "    t0v0 [label=\"gpu0\", shape=box];\n"
        "    t0v1 [label=\"nic0\", shape=ellipse];\n"
        "    t0v0 -- t0v1 [label=\"w 2 GB/s\"];\n"
        "  }\n"
        "  network [label=\"switch, 2 nodes\", shape=doubleoctagon];\n"
        "  t0v1 -- network [label=\"w 1 GB/s\"];\n"
        "}\n");
}
