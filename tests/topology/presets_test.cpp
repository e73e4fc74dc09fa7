// Every preset that ships loads and holds together.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "clusters.hpp"
#include "tests/about.hpp"
#include "topology/drawing.hpp"
#include "topology/load.hpp"

using namespace topology_test;

TEST_CASE("the presets that ship") {
  CHECK(fmt::format("{}", fmt::join(topology::preset_names(), " ")) ==
        "aws-p3.16xlarge aws-p4de.24xlarge aws-p5.48xlarge aws-p5en.48xlarge aws-p6-b200.48xlarge dgx-1v dgx-2 dgx-a100-40gb "
        "dgx-a100-80gb dgx-b200 dgx-b300 dgx-h100 dgx-h200 gb200-nvl72 gb300-nvl72 gcp-a3-megagpu-8g h20-node h800-node mi250x-frontier "
        "mi300x-node mi325x-node oci-bm.gpu.h100.8 oci-bm.gpu4.8 pcie-a100 pcie-l40s-4 pcie-v100 summit titan-xp-4");
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

TEST_CASE("presets have the figures that are published of their machines") {
  struct Machine {
    const char* preset;
    const char* gpu;
    int gpus_per_node, gpus_per_domain;
    double fabric_gb_s, network_gb_s;  // one way: from a GPU to its neighbour, and to another domain
  };
  // Data sheets and secondary pages as the presets name them: bandwidths of one direction, half of what is often printed.
  const Machine machines[] = {
      {"gb200-nvl72", "gb200-186gb", 4, 72, 900, 50},         {"gb300-nvl72", "gb300-288gb", 4, 72, 900, 100},
      {"dgx-b300", "b300-sxm-288gb", 8, 8, 900, 100},         {"dgx-b200", "b200-sxm-180gb", 8, 8, 900, 50},
      {"h800-node", "h800-sxm-80gb", 8, 8, 200, 50},          {"h20-node", "h20-sxm-96gb", 8, 8, 450, 50},
      {"mi300x-node", "mi300x-192gb", 8, 8, 64, 50},          {"mi325x-node", "mi325x-256gb", 8, 8, 64, 50},
      {"mi250x-frontier", "mi250x-64gb", 8, 8, 200, 25},      {"pcie-l40s-4", "l40s-48gb", 4, 4, 32, 12.5},
      {"dgx-h100", "h100-sxm-80gb", 8, 8, 450, 50},           {"aws-p5.48xlarge", "h100-sxm-80gb", 8, 8, 450, 50},
      {"aws-p5en.48xlarge", "h200-sxm-141gb", 8, 8, 450, 50}, {"aws-p6-b200.48xlarge", "b200-sxm-180gb", 8, 8, 900, 50},
      {"gcp-a3-megagpu-8g", "h100-sxm-80gb", 8, 8, 450, 25},  {"oci-bm.gpu.h100.8", "h100-sxm-80gb", 8, 8, 450, 50},
      {"oci-bm.gpu4.8", "a100-sxm-40gb", 8, 8, 300, 25},
  };
  for (const Machine& m : machines) {
    CAPTURE(m.preset);
    const int nodes = 2 * m.gpus_per_domain / m.gpus_per_node;
    const auto c = cluster_of(fmt::format("{{preset: {}, nodes: {}}}", m.preset, nodes));
    CHECK(c.device(gpu(0)).type == m.gpu);
    CHECK(c.node_devices(0).size() == static_cast<std::size_t>(m.gpus_per_node));
    CHECK(c.domain_devices(0).size() == static_cast<std::size_t>(m.gpus_per_domain));
    CHECK(c.domains() == 2);
    CHECK(c.route(gpu(0), gpu(1)).bandwidth.value() == test::about(1e9 * m.fabric_gb_s));
    CHECK(c.route(gpu(0), gpu(m.gpus_per_domain)).bandwidth.value() == test::about(1e9 * m.network_gb_s));
  }
  // MI300X: seven links of 64 GB/s leave a GPU, one to each other. MI250X: two packages' chips share an adapter.
  const auto mesh = cluster_of("{preset: mi300x-node}");
  for (int g = 1; g < 8; ++g) CHECK(mesh.route(gpu(0), gpu(g)).links.size() == 1);
  const auto frontier = cluster_of("{preset: mi250x-frontier, nodes: 256}");
  CHECK(std::ranges::equal(frontier.nics_of(gpu(0)), frontier.nics_of(gpu(1))));
  // What leaves a group of 128 nodes: 1 other group x 4 links here, 73 x 4 x 25 GB/s = 7.3 TB/s in the whole machine.
  int global = 0;
  for (const auto& l : frontier.links()) global += l.name.starts_with("group0.") && l.name.find("->group1.") != std::string::npos;
  CHECK(global == 4);
}

TEST_CASE("an instance of a cloud is the machine that its preset begins with, on the cloud's own network") {
  const auto instance = cluster_of("{preset: gcp-a3-megagpu-8g, nodes: 2}"), machine = cluster_of("{preset: dgx-h100, nodes: 2}");
  CHECK(instance.network_profile() == machine.network_profile());
  const auto types = [](const topology::Cluster& c) {
    std::map<std::string, int> count;
    for (const auto& l : c.links()) ++count[l.type];
    return count;
  };
  const std::map<std::string, int> expected = types(machine);
  CHECK(types(instance).at("nvlink") == expected.at("nvlink"));
  CHECK(types(instance).at("pcie") == expected.at("pcie"));
  CHECK(types(instance).at("tcpx") >= 16);
  CHECK_FALSE(types(instance).contains("infiniband"));
}

TEST_CASE("all of Summit loads") {
  const auto c = topology::load_cluster_argument("summit");
  CHECK(c.device_count() == 27648);
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
