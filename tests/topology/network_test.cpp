// Routes between nodes: NICs, switch, fat tree, rails, mixed node types.
#include <doctest/doctest.h>

#include "clusters.hpp"
#include "tests/about.hpp"

using namespace topology_test;

namespace {

// Nodes of two GPUs and two NICs on one CPU each; NIC links of 10 GB/s and 2 us.
std::string pairs(int nodes, const std::string& network) {
  return fmt::format(
      "{{nodes: {}, links: {{pcie: {{bandwidth: 16 GB/s, latency: 1 us}}, ib: {{bandwidth: 10 GB/s, latency: 2 us}}}}, node: {{gpus: "
      "{{type: t, count: 2}}, components: [cpu0, cpu1, nic0, nic1], "
      "wires: [{{between: [gpu0, cpu0], link: pcie}}, {{between: [cpu0, nic0], link: pcie}}, {{between: [gpu1, cpu1], link: pcie}}, "
      "{{between: [cpu1, nic1], link: pcie}}, "
      "{{between: [cpu0, cpu1], link: pcie}}]}}, network: {}}}",
      nodes, network);
}

double bandwidth_of(const topology::Cluster& c, const std::string& name) {
  for (const auto& l : c.links()) {
    if (l.name == name) return l.bandwidth.value();
  }
  return 0;
}

}  // namespace

TEST_CASE("Summit: between nodes each socket uses its own NIC") {
  // 12.5 GB/s of EDR; NVLink 1.3 + PCIe 0.5 + network 1.5 + PCIe 0.5 + NVLink 1.3 us.
  const auto c = cluster_of("{preset: summit, nodes: 2}");
  CHECK(route_text(c, 0, 6) ==
        "node0:gpu0->cpu0, node0:cpu0->nic0, node0:nic0->leaf0, leaf0->node1:nic0, node1:nic0->cpu0, node1:cpu0->gpu0 at 12.5 GB/s in 5.1 "
        "us");
  CHECK(route_text(c, 5, 6) ==
        "node0:gpu5->cpu1, node0:cpu1->nic1, node0:nic1->leaf0, leaf0->node1:nic0, node1:nic0->cpu0, node1:cpu0->gpu0 at 12.5 GB/s in 5.1 "
        "us");
}

TEST_CASE("a route through a chosen NIC crosses to its socket") {
  const auto c = cluster_of("{preset: summit, nodes: 2}");
  CHECK(text_of(c, c.route_through_nics(gpu(0), gpu(6), 1, 1)) ==
        "node0:gpu0->cpu0, node0:cpu0->cpu1, node0:cpu1->nic1, node0:nic1->leaf0, leaf0->node1:nic1, node1:nic1->cpu1, node1:cpu1->cpu0, "
        "node1:cpu0->gpu0 at 12.5 GB/s in 6.3 us");
}

TEST_CASE("DGX A100: two GPUs and two NICs share a switch, and each GPU has its own NIC") {
  const auto c = cluster_of("{preset: dgx-a100-80gb, nodes: 2}");
  for (int i = 0; i < 8; ++i) {
    const auto r = c.route(gpu(i), gpu(8 + i));
    CHECK(c.link(r.links[2]).name == fmt::format("node0:nic{}->rail{}", i, i));
    CHECK(r.bandwidth == base::BytesPerSecond(25e9));
  }
}

TEST_CASE("one switch: up and down links of its link type, the latency paid once") {
  const auto c = cluster_of(pairs(3, "{type: switch, link: ib}"));
  CHECK(
      route_text(c, 0, 4) ==
      "node0:gpu0->cpu0, node0:cpu0->nic0, node0:nic0->switch, switch->node2:nic0, node2:nic0->cpu0, node2:cpu0->gpu0 at 10 GB/s in 6 us");
}

TEST_CASE("fat tree: within a leaf as one switch, across leaves by shared links of (NICs x bandwidth / oversubscription)") {
  // Leaves of two nodes with two NICs: 2 x 2 x 10 GB/s / 4 = 10 GB/s; three nodes: the second leaf has one node, 5 GB/s.
  const auto c = cluster_of(pairs(3, "{type: fat-tree, link: ib, oversubscription: 4, nodes_per_leaf: 2}"));
  CHECK(route_text(c, 0, 2) ==
        "node0:gpu0->cpu0, node0:cpu0->nic0, node0:nic0->leaf0, leaf0->node1:nic0, node1:nic0->cpu0, node1:cpu0->gpu0 at 10 GB/s in 6 us");
  CHECK(route_text(c, 0, 4) ==
        "node0:gpu0->cpu0, node0:cpu0->nic0, node0:nic0->leaf0, leaf0->core, core->leaf1, leaf1->node2:nic0, node2:nic0->cpu0, "
        "node2:cpu0->gpu0 at 5 GB/s in 8 us");
  CHECK(bandwidth_of(c, "leaf0->core") == test::about(10e9));
  CHECK(bandwidth_of(c, "core->leaf1") == test::about(5e9));
}

TEST_CASE("fat tree of one leaf has no core") {
  const auto c = cluster_of(pairs(2, "{type: fat-tree, link: ib, oversubscription: 4, nodes_per_leaf: 2}"));
  CHECK(bandwidth_of(c, "leaf0->core") == 0);
}

TEST_CASE("rails: NIC i reaches NIC i over one switch, other NICs over the spine") {
  // Each rail has three NICs: 3 x 10 / 2 = 15 GB/s to the spine.
  const auto c = cluster_of(pairs(3, "{type: rail, link: ib, oversubscription: 2}"));
  CHECK(route_text(c, 1, 5) ==
        "node0:gpu1->cpu1, node0:cpu1->nic1, node0:nic1->rail1, rail1->node2:nic1, node2:nic1->cpu1, node2:cpu1->gpu1 at 10 GB/s in 6 us");
  CHECK(route_text(c, 0, 5) ==
        "node0:gpu0->cpu0, node0:cpu0->nic0, node0:nic0->rail0, rail0->spine, spine->rail1, rail1->node2:nic1, node2:nic1->cpu1, "
        "node2:cpu1->gpu1 at 10 GB/s in 8 us");
  CHECK(bandwidth_of(c, "rail0->spine") == test::about(15e9));
}

TEST_CASE("a half-duplex network link is one link for both ways") {
  const auto c = cluster_of(
      "{nodes: 2, links: {bus: {bandwidth: 1 GB/s, latency: 1 us, half_duplex: true}}, node: {gpus: {type: t, count: 1}, components: "
      "[nic0], wires: [{between: [gpu0, nic0], link: bus}]}, network: {type: switch, link: bus}}");
  const auto there = c.route(gpu(0), gpu(1)).links;
  const auto back = c.route(gpu(1), gpu(0)).links;
  CHECK(there == std::vector(back.rbegin(), back.rend()));
}

TEST_CASE("mixed node types: nodes are numbered type by type and each keeps its wiring") {
  const auto c = cluster_of(
      "{links: {fast: {bandwidth: 20 GB/s, latency: 1 us}, slow: {bandwidth: 2 GB/s, latency: 1 us}, eth: {bandwidth: 5 GB/s, latency: 10 "
      "us}}, node_types: ["
      "{count: 1, gpus: {type: big, count: 2}, components: [switch0, nic0], wires: [{between: [gpu0, switch0], link: fast}, {between: "
      "[gpu1, switch0], link: fast}, {between: [switch0, nic0], link: fast}]}, "
      "{count: 2, gpus: {type: small, count: 1, memory: 8 GiB}, components: [nic0], wires: [{between: [gpu0, nic0], link: slow}]}], "
      "network: {type: switch, link: eth}}");
  CHECK(c.nodes() == 3);
  CHECK(c.device_count() == 4);
  CHECK(c.device(gpu(1)).type == "big");
  CHECK(c.device(gpu(3)).type == "small");
  CHECK(c.device(gpu(3)).node == 2);
  CHECK(c.device(gpu(3)).memory->value() == 8.0 * 1024 * 1024 * 1024);
  CHECK(c.node_devices(1).size() == 1);
  CHECK(route_text(c, 0, 1) == "node0:gpu0->switch0, node0:switch0->gpu1 at 20 GB/s in 2 us");
  CHECK(route_text(c, 1, 3) ==
        "node0:gpu1->switch0, node0:switch0->nic0, node0:nic0->switch, switch->node2:nic0, node2:nic0->gpu0 at 2 GB/s in 13 us");
}
