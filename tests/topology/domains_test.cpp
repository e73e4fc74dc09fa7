// Domains: a fabric that joins the GPUs of several nodes, and the segments of it that a job takes.
#include <doctest/doctest.h>

#include <algorithm>

#include "clusters.hpp"

using namespace topology_test;

namespace {

// Nodes of two GPUs, each with a NIC of its own, on a fabric that joins `in_domain` nodes.
std::string trays(int nodes, const std::string& domain) {
  return fmt::format(
      "{{nodes: {}, links: {{nvlink: {{bandwidth: 100 GB/s, latency: 1 us}}, pcie: {{bandwidth: 20 GB/s, latency: 1 us}}, ib: {{bandwidth: "
      "10 "
      "GB/s, latency: 2 us}}}}, node: {{gpus: {{type: t, count: 2}}, domain: {}, components: [nic0, nic1], wires: [{{between: [gpu0, "
      "nic0], "
      "link: pcie}}, {{between: [gpu1, nic1], link: pcie}}]}}, network: {{type: rail, link: ib}}}}",
      nodes, domain);
}

}  // namespace

TEST_CASE("within a domain the fabric leads from node to node, between domains the network does") {
  const auto c = cluster_of(trays(4, "{nodes: 2, link: nvlink}"));
  CHECK(c.nodes() == 4);
  CHECK(c.domains() == 2);
  CHECK(route_text(c, 0, 1) == "node0:gpu0->fabric, node0:fabric->gpu1 at 100 GB/s in 2 us");
  CHECK(route_text(c, 0, 3) == "node0:gpu0->fabric, node1:fabric->gpu1 at 100 GB/s in 2 us");
  CHECK(route_text(c, 3, 4) ==
        "node1:gpu1->nic1, node1:nic1->rail1, rail1->spine, spine->rail0, rail0->node2:nic0, node2:nic0->gpu0 at 10 GB/s in 6 us");
  CHECK(c.route(gpu(0), gpu(3)).kind == topology::RouteKind::fabric);
  CHECK(c.device(gpu(5)).domain == 1);
  CHECK(c.device(gpu(7)).index_in_domain == 3);
  CHECK(c.domain_devices(1).size() == 4);
  // NICs are numbered through the domain; each GPU has its own.
  CHECK(std::ranges::equal(c.nics_of(gpu(6)), std::array{2}));
}

TEST_CASE("a job takes whole segments of a domain, as many as fit") {
  CHECK(cluster_of(trays(8, "{nodes: 5, link: nvlink, segment: 5}")).domain_devices(0).size() == 10);
  CHECK(cluster_of(trays(8, "{nodes: 5, link: nvlink, segment: 4}")).domain_devices(0).size() == 8);
  CHECK(cluster_of(trays(8, "{nodes: 5, link: nvlink, segment: 2}")).domain_devices(0).size() == 8);  // two segments
  CHECK(cluster_of(trays(8, "{nodes: 5, link: nvlink, segment: 3}")).domains() == 3);
  CHECK(errors_of(trays(8, "{nodes: 5, link: nvlink, segment: 6}")).find("cluster.node.domain.segment") != std::string::npos);
}

TEST_CASE("a job that says no segment takes the largest equal ones, as NVIDIA's scripts ask for") {
  // Megatron-Bridge, scripts/performance/utils/executors.py: up to a rack of 18 trays all of them, else the largest divisor of the trays
  // up to 18. As many whole segments as fit are in one domain.
  const auto sizes = [](int trays) {
    const auto c = cluster_of(fmt::format("{{preset: gb200-nvl72, nodes: {}}}", trays));
    std::vector<std::size_t> in_domain;
    for (int d = 0; d < c.domains(); ++d) in_domain.push_back(c.domain_devices(d).size() / 4);
    return in_domain;
  };
  using Trays = std::vector<std::size_t>;
  CHECK(sizes(4) == Trays{4});
  CHECK(sizes(18) == Trays{18});
  CHECK(sizes(36) == Trays{18, 18});
  CHECK(sizes(64) == Trays{16, 16, 16, 16});
  CHECK(sizes(20) == Trays{10, 10});
  CHECK(sizes(19) == Trays{18, 1});  // a prime number: segments of one tray
}

TEST_CASE("one domain needs no network") {
  const std::string one =
      "{nodes: 3, links: {nvlink: {bandwidth: 100 GB/s, latency: 1 us}}, node: {gpus: {type: t, count: 1}, domain: {nodes: 4, link: "
      "nvlink, "
      "count: 2, in_network: true}}}";
  const auto c = cluster_of(one);
  CHECK(route_text(c, 0, 2) == "node0:gpu0->fabric, node2:fabric->gpu0 at 200 GB/s in 2 us");
  const auto paths = c.in_network_switch(gpu(2));
  REQUIRE(paths);
  CHECK(text_of(c, paths->up) == "node2:gpu0->fabric at 200 GB/s in 1 us");
  CHECK_FALSE(cluster_of(one.substr(0, one.size() - 1) + ", in_network: false}").in_network_switch(gpu(2)));
}

TEST_CASE("a GB200 rack: 72 GPUs on one fabric, 64 of them where a job of 64 trays takes segments of 16") {
  const auto rack = cluster_of("{preset: gb200-nvl72}");
  CHECK(rack.device_count() == 72);
  CHECK(rack.domains() == 1);
  CHECK(route_text(rack, 0, 71) == "node0:gpu0->fabric, node17:fabric->gpu3 at 900 GB/s in 600 ns");
  const auto four = cluster_of("{preset: gb200-nvl72, nodes: 64}");
  CHECK(four.domains() == 4);
  for (int d = 0; d < 4; ++d) CHECK(four.domain_devices(d).size() == 64);
  CHECK(four.route(gpu(0), gpu(64)).bandwidth == base::BytesPerSecond(50e9));
  for (int g = 0; g < 4; ++g) CHECK(four.nics_of(gpu(g)).size() == 1);
}
