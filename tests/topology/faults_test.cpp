// Faults: slow GPUs and nodes, failed links, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>

#include "clusters.hpp"
#include "tests/about.hpp"

using namespace topology_test;

namespace {

std::string dgx(int nodes, const std::string& faults) {
  return fmt::format("{{preset: dgx-h100, nodes: {}, faults: [{}]}}", nodes, faults);
}

// Four nodes of one GPU and one NIC.
std::string nodes_on(const std::string& network, const std::string& faults) {
  return fmt::format(
      "{{nodes: 4, links: {{ib: {{bandwidth: 10 GB/s, latency: 2 us}}}}, node: {{gpus: {{type: t, count: 1}}, components: [nic0], wires: "
      "[{{between: [gpu0, nic0], link: ib}}]}}, network: {}, faults: [{}]}}",
      network, faults);
}

bool crosses(const topology::Cluster& c, int from, int to, const std::string& name) {
  return std::ranges::any_of(c.route(gpu(from), gpu(to)).links, [&](const auto l) { return c.link(l).name == name; });
}

}  // namespace

TEST_CASE("a slow GPU, and a slow node with its host") {
  const auto c = cluster_of(dgx(2, "{node: 0, gpu: gpu3, slowdown: 1.5}, {node: 1, slowdown: 2}, {node: 1, gpu: gpu0, slowdown: 1.5}"));
  CHECK(c.device(gpu(2)).slowdown == 1);
  CHECK(c.device(gpu(3)).slowdown == 1.5);
  CHECK(c.device(gpu(3)).host_slowdown == test::about(1 / 1.5));  // hosts of a DGX H100 are 1.5 times as fast
  CHECK(c.device(gpu(8)).slowdown == 3);                          // both faults
  CHECK(c.device(gpu(9)).slowdown == 2);
  CHECK(c.device(gpu(9)).host_slowdown == test::about(2 / 1.5));
  CHECK(c.node_type(0) != c.node_type(1));
}

TEST_CASE("without a failed NIC its GPU uses another one of the node") {
  const auto sound = cluster_of(dgx(2, "")), c = cluster_of(dgx(2, "{node: 1, nic: nic2}"));
  CHECK(std::ranges::equal(sound.nics_of(gpu(10)), std::array{2}));
  CHECK(c.nics_of(gpu(10)).size() == 1);
  CHECK(c.nics_of(gpu(10)).front() != 2);
  CHECK(std::ranges::equal(c.nics_of(gpu(2)), std::array{2}));  // in the other node all is as it was
  CHECK_FALSE(crosses(c, 2, 10, "rail2->node1:nic2"));
  CHECK(c.route(gpu(2), gpu(10)).bandwidth.value() > 0);
  // Half of its link left: 25 of 50 GB/s, both ways.
  CHECK(cluster_of(dgx(2, "{node: 1, nic: nic2, left: 0.5}")).route(gpu(10), gpu(2)).bandwidth == base::BytesPerSecond(25e9));
}

TEST_CASE("without its NVLinks a GPU is reached over PCIe") {
  const auto c = cluster_of(dgx(1, "{node: 0, between: [gpu0, switch0]}"));
  CHECK(c.route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(64e9));
  CHECK(c.route(gpu(1), gpu(2)).bandwidth == base::BytesPerSecond(450e9));
  CHECK_FALSE(c.in_network_switch(gpu(0)));
  CHECK(c.in_network_switch(gpu(1)));
  CHECK(cluster_of(dgx(1, "{node: 0, between: [switch0, gpu0], left: 0.5}")).route(gpu(1), gpu(0)).bandwidth ==
        base::BytesPerSecond(225e9));
}

TEST_CASE("a fault that leaves a part of a wire moves no traffic: routes, NICs and wirings are those of the sound cluster") {
  // In a DGX A100 GPU 0 and GPU 1 share a PCIe switch with NIC 0 and NIC 1, and each has one of them.
  const std::string dgx = "{preset: dgx-a100-80gb, nodes: 2, faults: [";
  const auto sound = cluster_of(dgx + "]}"), part = cluster_of(dgx + "{node: 0, between: [switch1, nic0], left: 0.5}]}"),
             gone = cluster_of(dgx + "{node: 0, nic: nic0}]}");
  CHECK(std::ranges::equal(part.nics_of(gpu(0)), sound.nics_of(gpu(0))));
  CHECK_FALSE(std::ranges::equal(gone.nics_of(gpu(0)), sound.nics_of(gpu(0))));
  CHECK(part.route(gpu(0), gpu(8)).links == sound.route(gpu(0), gpu(8)).links);
  CHECK(part.route(gpu(0), gpu(8)).built == sound.route(gpu(0), gpu(8)).bandwidth);
  CHECK(part.node_type(0) != part.node_type(1));
  CHECK(part.wiring(0) == part.wiring(1));
  CHECK(gone.wiring(0) != gone.wiring(1));
  // Of two ways of one kind the wider as built: both GPUs hang on two switches, 50 GB/s by one and 40 by the other.
  const std::string two =
      "{nodes: 1, links: {a: {bandwidth: 50 GB/s, latency: 0 s}, b: {bandwidth: 40 GB/s, latency: 0 s}}, node: {gpus: {type: t, count: 2}, "
      "components: [switch0, switch1], wires: [{between: [\"gpu[0-1]\", switch0], link: a}, {between: [\"gpu[0-1]\", switch1], link: b}]}, "
      "faults: [{node: 0, between: [gpu0, switch0], left: 0.5}]}";
  CHECK(route_text(cluster_of(two), 0, 1) == "node0:gpu0->switch0, node0:switch0->gpu1 at 25 GB/s in 0 s");
}

TEST_CASE("a failed link of the network is gone round") {
  const std::string ring = "{type: torus, link: ib, dimensions: [4]}";
  CHECK(cluster_of(nodes_on(ring, "")).route(gpu(0), gpu(1)).links.size() == 5);
  const auto c = cluster_of(nodes_on(ring, "{between: [place0, place1]}"));
  CHECK(c.route(gpu(0), gpu(1)).links.size() == 7);  // the other way round: three links instead of one
  CHECK(crosses(c, 0, 1, "place3->place2"));
  CHECK(c.route(gpu(1), gpu(0)).links.size() == 7);
  CHECK(c.route(gpu(2), gpu(3)).links.size() == 5);
  const auto narrow = cluster_of(nodes_on(ring, "{between: [place0, place1], left: 0.25}"));
  CHECK(narrow.route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(2.5e9));
}

TEST_CASE("a link without which nodes are apart is refused to fail") {
  CHECK(
      errors_of("{preset: summit, nodes: 36, faults: [{between: [leaf1, core]}]}") ==
      "c.yaml:1:48: cluster.faults[0].between: no way leads from leaf0 to leaf1\n"
      "    1 | {preset: summit, nodes: 36, faults: [{between: [leaf1, core]}]}\n"
      "      |                                                ^~~ write e.g. left: 0.5 if some of the links between the two are there, or "
      "leave nodes out\n");
  // 36 NICs of 12.5 GB/s, of which three quarters are left.
  const auto c = cluster_of("{preset: summit, nodes: 36, faults: [{between: [leaf1, core], left: 0.75}]}");
  const auto& links = c.links();
  const auto up = std::ranges::find(links, "leaf1->core", &topology::Link::name);
  REQUIRE(up != links.end());
  CHECK(up->bandwidth.value() == test::about(0.75 * 36 * 12.5e9));
}

TEST_CASE("a GPU without its link to the fabric of a domain is refused, one that has lost some is not") {
  CHECK(errors_of("{preset: gb200-nvl72, nodes: 2, faults: [{node: 1, between: [gpu2, fabric]}]}")
            .find("gpu2 has no link left to the fabric of its domain") != std::string::npos);
  const auto c = cluster_of("{preset: gb200-nvl72, nodes: 2, faults: [{node: 1, between: [gpu2, fabric], left: 0.5}]}");
  CHECK(c.route(gpu(0), gpu(6)).bandwidth == base::BytesPerSecond(450e9));
  CHECK(c.route(gpu(0), gpu(5)).bandwidth == base::BytesPerSecond(900e9));
}

TEST_CASE("faults that say nothing, too much or of something that is not there") {
  const auto error = [](const std::string& fault) { return errors_of(dgx(2, fault)); };
  CHECK(error("{node: 0}").find("no such fault") != std::string::npos);
  CHECK(error("{node: 0, slowdown: 2, left: 0.5}").find("no such fault") != std::string::npos);
  CHECK(error("{nic: nic0}").find("no such fault") != std::string::npos);
  CHECK(error("{node: 2, slowdown: 2}").find("cluster.faults[0].node") != std::string::npos);
  CHECK(error("{node: 0, gpu: gpu9, slowdown: 2}").find("the node has no \"gpu9\"") != std::string::npos);
  CHECK(error("{node: 0, gpu: nic0, slowdown: 2}").find("\"nic0\" is no GPU") != std::string::npos);
  CHECK(error("{node: 0, slowdown: 0.5}").find("cluster.faults[0].slowdown") != std::string::npos);
  CHECK(error("{node: 0, nic: gpu0}").find("\"gpu0\" is no NIC") != std::string::npos);
  CHECK(error("{node: 0, between: [gpu0, gpu1]}").find("no wire joins gpu0 and gpu1") != std::string::npos);
  CHECK(errors_of(dgx(1, "{between: [rail0, spine]}")).find("there is no network whose link could fail") != std::string::npos);
  CHECK(error("{between: [rail0, rail1]}").find("no link of the network joins rail0 and rail1") != std::string::npos);
}

TEST_CASE("GPUs without their own NICs do not all take the same one") {
  // In a DGX H100 the CPU of GPUs 0 to 3 reaches NICs 0 to 3 equally well. Two are left: GPU 2 takes number 2 % 2 of them, GPU 3 3 % 2.
  const auto c = cluster_of(dgx(2, "{node: 1, nic: nic2}, {node: 1, nic: nic3}"));
  CHECK(std::ranges::equal(c.nics_of(gpu(10)), std::array{0}));
  CHECK(std::ranges::equal(c.nics_of(gpu(11)), std::array{1}));
}

TEST_CASE("of a link with two faults what both leave is left") {
  const auto c = cluster_of(nodes_on("{type: torus, link: ib, dimensions: [4]}",
                                     "{between: [place0, place1], left: 0.5}, {between: [place1, place0], left: 0.25}"));
  CHECK(c.route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(0.125 * 10e9));
}
