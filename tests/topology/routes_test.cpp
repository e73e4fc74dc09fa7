// Routes inside a node: Summit's two sockets, the hybrid cube mesh of DGX-1, and small nodes made by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "clusters.hpp"
#include "tests/about.hpp"

using namespace topology_test;

TEST_CASE("Summit: GPUs of one socket are joined by two bricks") {
  const auto c = cluster_of("{preset: summit, nodes: 1}");
  CHECK(route_text(c, 0, 1) == "node0:gpu0->gpu1 at 50 GB/s in 1.3 us");
  CHECK(route_text(c, 5, 3) == "node0:gpu5->gpu3 at 50 GB/s in 1.3 us");
}

TEST_CASE("Summit: GPUs of two sockets meet over both CPUs and the X-Bus") {
  // NVLink 50, X-Bus 64, NVLink 50 GB/s; 1.3 + 0.6 + 1.3 us.
  const auto c = cluster_of("{preset: summit, nodes: 1}");
  CHECK(route_text(c, 0, 3) == "node0:gpu0->cpu0, node0:cpu0->cpu1, node0:cpu1->gpu3 at 50 GB/s in 3.2 us");
  const auto slow = cluster_of("{preset: summit, nodes: 1, links.xbus.bandwidth: 32 GB/s}");
  CHECK(route_text(slow, 4, 2) == "node0:gpu4->cpu1, node0:cpu1->cpu0, node0:cpu0->gpu2 at 32 GB/s in 3.2 us");
}

TEST_CASE("DGX-1: a pair has two bricks, one, or none, and without one the path leads over PCIe and the sockets, not through a GPU") {
  const auto c = cluster_of("{preset: dgx-1v}");
  CHECK(route_text(c, 0, 3) == "node0:gpu0->gpu3 at 50 GB/s in 1.3 us");
  CHECK(route_text(c, 0, 1) == "node0:gpu0->gpu1 at 25 GB/s in 1.3 us");
  // PCIe 16, socket to socket 6 GB/s; 4 x 0.5 + 0.6 us.
  CHECK(route_text(c, 0, 5) ==
        "node0:gpu0->switch0, node0:switch0->cpu0, node0:cpu0->cpu1, node0:cpu1->switch2, node0:switch2->gpu5 at 6 GB/s in 2.6 us");
}

TEST_CASE("DGX-1: every GPU has six bricks") {
  const auto c = cluster_of("{preset: dgx-1v}");
  std::vector<double> out(8, 0);
  for (const auto& link : c.links()) {
    if (link.type != "nvlink") continue;
    out[static_cast<std::size_t>(link.name[link.name.find("gpu") + 3] - '0')] += link.bandwidth.value();
  }
  for (const double b : out) CHECK(b == test::about(150e9));
}

TEST_CASE("the nearer kind of path wins however wide another is: fabric, PCIe switches, one CPU, several") {
  // Thin links of 1 GB/s against wide ones of 100 GB/s, a farther kind each time.
  const std::string head =
      "{nodes: 1, links: {thin: {bandwidth: 1 GB/s, latency: 9 us}, wide: {bandwidth: 100 GB/s, latency: 1 us}}, "
      "node: {gpus: {type: t, count: 2}, components: [switch0, switch1, cpu0, cpu1, cpu2], wires: [";
  const auto c = [&](const std::string& wires) { return cluster_of(head + wires + "]}}"); };
  const std::string through_one = "{all_pairs: [gpu0, cpu0], link: wide}, {all_pairs: [gpu1, cpu0], link: wide}, ";
  // switch1 joins a CPU too, so it is PCIe's; switch0 joins GPUs alone, so it is the fabric's.
  const std::string pcie = "{all_pairs: [gpu0, switch1, cpu0], link: wide}, {all_pairs: [gpu1, switch1], link: wide}, ";
  CHECK(route_text(c(pcie + "{between: [gpu0, gpu1], link: thin}"), 0, 1) == "node0:gpu0->gpu1 at 1 GB/s in 9 us");
  CHECK(route_text(c(pcie + "{between: [gpu0, switch0], link: thin}, {between: [gpu1, switch0], link: thin}"), 0, 1) ==
        "node0:gpu0->switch0, node0:switch0->gpu1 at 1 GB/s in 18 us");
  CHECK(route_text(
            c(through_one + "{between: [gpu0, switch1], link: thin}, {between: [gpu1, switch1], link: thin}, {between: [switch1, cpu2], "
                            "link: wide}"),
            0, 1) == "node0:gpu0->switch1, node0:switch1->gpu1 at 1 GB/s in 18 us");
  CHECK(route_text(c("{between: [gpu0, cpu0], link: wide}, {between: [cpu0, cpu1], link: wide}, {between: [cpu1, gpu1], link: wide}, "
                     "{between: [gpu0, cpu2], link: thin}, {between: [gpu1, cpu2], link: thin}"),
                   0, 1) == "node0:gpu0->cpu2, node0:cpu2->gpu1 at 1 GB/s in 18 us");
}

TEST_CASE("presets: no link's bandwidth changes a route inside a node, or the NICs that a GPU uses") {
  for (const char* const name : {"dgx-1v", "dgx-2", "dgx-a100-80gb", "dgx-h100", "summit", "pcie-a100"})
    for (const char* const link : {"nvlink", "pcie", "xbus"}) {
      if (std::string(name) == "pcie-a100" && std::string(link) == "nvlink") continue;
      const auto base = cluster_of(fmt::format("{{preset: {}, nodes: 2}}", name));
      const auto faster = cluster_of(fmt::format("{{preset: {}, nodes: 2, links.{}.bandwidth: 16x}}", name, link));
      for (int a = 0; a < base.device_count() / 2; ++a)
        for (int b = 0; b < base.device_count(); ++b) CHECK(base.route(gpu(a), gpu(b)).links == faster.route(gpu(a), gpu(b)).links);
    }
}

TEST_CASE("NICs that are equally near are shared out among their GPUs") {
  const std::string links = "links: {pcie: {bandwidth: 16 GB/s, latency: 1 us}, ib: {bandwidth: 10 GB/s, latency: 2 us}}";
  // Two GPUs and four NICs on one switch: two for each.
  const auto many = cluster_of(
      "{nodes: 2, " + links +
      ", node: {gpus: {type: t, count: 2}, components: [switch0, nic0, nic1, nic2, nic3], wires: [{between: [gpu0, switch0], link: "
      "pcie}, {between: [gpu1, switch0], link: pcie}, {between: [nic0, switch0], link: pcie}, {between: [nic1, switch0], link: pcie}, "
      "{between: [nic2, switch0], link: pcie}, {between: [nic3, switch0], link: pcie}]}, network: {type: switch, link: ib}}");
  CHECK(std::ranges::equal(many.nics_of(gpu(0)), std::array{0, 1}));
  CHECK(std::ranges::equal(many.nics_of(gpu(1)), std::array{2, 3}));
  const auto dgx = cluster_of("{preset: dgx-1v, nodes: 2}");  // two GPUs on a switch with one NIC
  for (int g = 0; g < 8; ++g) CHECK(std::ranges::equal(dgx.nics_of(gpu(g)), std::array{g / 2}));
}

TEST_CASE("of one kind the wider path wins, then the one with fewer hops, then the quicker, then the first written") {
  const std::string head =
      "{nodes: 1, links: {wide: {bandwidth: 20 GB/s, latency: 5 us}, narrow: {bandwidth: 10 GB/s, latency: 1 us}, quick: {bandwidth: 20 "
      "GB/s, latency: 1 us}}, "
      "node: {gpus: {type: t, count: 2}, components: [cpu0, cpu1, cpu2], wires: [";
  const auto c = [&](const std::string& wires) { return cluster_of(head + wires + "]}}"); };
  CHECK(route_text(c("{between: [gpu0, cpu1], link: narrow}, {between: [cpu1, gpu1], link: narrow}, {between: [gpu0, cpu0], link: wide}, "
                     "{between: [cpu0, gpu1], link: wide}"),
                   0, 1) == "node0:gpu0->cpu0, node0:cpu0->gpu1 at 20 GB/s in 10 us");
  CHECK(route_text(c("{between: [gpu0, cpu0], link: quick}, {between: [cpu0, gpu1], link: quick}, {between: [gpu0, gpu1], link: wide}"), 0,
                   1) == "node0:gpu0->gpu1 at 20 GB/s in 5 us");
  CHECK(route_text(c("{all_pairs: [gpu0, cpu0], link: wide}, {all_pairs: [cpu0, gpu1], link: wide}, {all_pairs: [gpu0, cpu1], link: "
                     "quick}, {all_pairs: [cpu1, gpu1], link: wide}"),
                   0, 1) == "node0:gpu0->cpu1, node0:cpu1->gpu1 at 20 GB/s in 6 us");
  CHECK(route_text(c("{between: [gpu0, cpu2], link: wide}, {between: [gpu1, cpu2], link: wide}, {between: [gpu0, cpu1], link: wide}, "
                     "{between: [gpu1, cpu1], link: wide}"),
                   0, 1) == "node0:gpu0->cpu2, node0:cpu2->gpu1 at 20 GB/s in 10 us");
}

TEST_CASE("the narrowest link of the whole path decides, so its first part may be the shorter, narrower one") {
  // From gpu0 to cpu1 the wide detour over cpu0 is best; on to gpu1 nothing is wider than 5 GB/s, so the direct way to cpu1 is shorter.
  const auto c = cluster_of(
      "{nodes: 1, links: {wide: {bandwidth: 20 GB/s, latency: 1 us}, middle: {bandwidth: 10 GB/s, latency: 1 us}, thin: {bandwidth: 5 "
      "GB/s, latency: 1 us}}, "
      "node: {gpus: {type: t, count: 2}, components: [cpu0, cpu1], wires: [{between: [gpu0, cpu0], link: wide}, {between: [cpu0, cpu1], "
      "link: wide}, "
      "{between: [gpu0, cpu1], link: middle}, {between: [cpu1, gpu1], link: thin}]}}");
  CHECK(route_text(c, 0, 1) == "node0:gpu0->cpu1, node0:cpu1->gpu1 at 5 GB/s in 2 us");
}

TEST_CASE("a GPU forwards for others only where there is no other way") {
  const auto c = cluster_of(
      "{nodes: 1, links: {w: {bandwidth: 1 GB/s, latency: 1 us}}, node: {gpus: {type: t, count: 3}, wires: [{between: [gpu0, gpu1], link: "
      "w}, {between: [gpu1, gpu2], link: w}]}}");
  CHECK(route_text(c, 0, 2) == "node0:gpu0->gpu1, node0:gpu1->gpu2 at 1 GB/s in 2 us");
}

TEST_CASE("a half-duplex wire is one link for both ways, a duplex one two; bonded wires multiply") {
  const auto c = cluster_of(
      "{nodes: 1, links: {h: {bandwidth: 4 GB/s, latency: 1 us, half_duplex: true}, d: {bandwidth: 4 GB/s, latency: 1 us}}, node: {gpus: "
      "{type: t, count: 3}, wires: ["
      "{between: [gpu0, gpu1], link: h}, {between: [gpu1, gpu2], link: d, count: 3}, {between: [gpu0, gpu2], link: d}]}}");
  CHECK(c.links().size() == 5);
  CHECK(c.route(gpu(0), gpu(1)).links == c.route(gpu(1), gpu(0)).links);
  CHECK(c.route(gpu(1), gpu(2)).links != c.route(gpu(2), gpu(1)).links);
  CHECK(route_text(c, 1, 2) == "node0:gpu1->gpu2 at 12 GB/s in 1 us");
}

TEST_CASE("from a device to itself nothing is crossed") {
  const auto c = cluster_of("{preset: summit, nodes: 1}");
  CHECK(c.route(gpu(2), gpu(2)).links.empty());
  CHECK(c.route(gpu(2), gpu(2)).latency == base::Seconds(0));
}

TEST_CASE("a DGX H100's switch reduces in the network, a DGX A100's does not") {
  const auto h = cluster_of("{preset: dgx-h100, nodes: 2}");
  const auto paths = h.in_network_switch(gpu(9));
  REQUIRE(paths);
  CHECK(text_of(h, paths->up) == "node1:gpu1->switch0 at 450 GB/s in 300 ns");
  CHECK(text_of(h, paths->down) == "node1:switch0->gpu1 at 450 GB/s in 300 ns");
  CHECK_FALSE(cluster_of("{preset: dgx-a100-80gb}").in_network_switch(gpu(0)));
  CHECK_FALSE(cluster_of("{preset: dgx-h100, nodes: 2, in_network: false}").in_network_switch(gpu(9)));
}

TEST_CASE("of NICs that are equally near a GPU uses the one with the wider path") {
  const auto c = cluster_of(
      "{nodes: 2, links: {thin: {bandwidth: 8 GB/s, latency: 1 us}, wide: {bandwidth: 16 GB/s, latency: 1 us}, ib: {bandwidth: 10 GB/s, "
      "latency: 2 us}}, node: {gpus: {type: t, count: 1}, components: [switch0, nic0, nic1], wires: [{between: [gpu0, switch0], link: "
      "wide}, {between: [switch0, nic0], link: thin}, {between: [switch0, nic1], link: wide}]}, network: {type: switch, link: ib}}");
  CHECK(std::ranges::equal(c.nics_of(gpu(0)), std::array{1}));
}

TEST_CASE("without peer access GPUs on one PCIe switch exchange through the host, over the switch's own link twice") {
  const auto c = [](const std::string& more) {
    return cluster_of(
        "{nodes: 1, links: {pcie: {bandwidth: 32 GB/s, latency: 1 us}, bridge: {bandwidth: 56 GB/s, latency: 1 us}}, node: {gpus: {type: "
        "t, count: 3" +
        more +
        "}, components: [switch0, cpu0], wires: [{between: [\"gpu[0-1]\", switch0], link: pcie}, {between: [switch0, cpu0], link: pcie}, "
        "{between: [gpu2, cpu0], link: pcie}, {between: [gpu0, gpu2], link: bridge}]}}");
  };
  CHECK(route_text(c(""), 0, 1) == "node0:gpu0->switch0, node0:switch0->gpu1 at 32 GB/s in 2 us");
  const auto staged = c(", peer_access: false");
  CHECK(route_text(staged, 0, 1) ==
        "node0:gpu0->switch0, node0:switch0->cpu0, node0:cpu0->switch0, node0:switch0->gpu1 at 32 GB/s in 4 us");
  CHECK(route_text(staged, 1, 2) == route_text(c(""), 1, 2));                // through the CPU as it is
  CHECK(route_text(staged, 0, 2) == "node0:gpu0->gpu2 at 56 GB/s in 1 us");  // a bridge stays
}
