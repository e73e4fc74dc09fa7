// What each GPU has of the way to its nearest CPU when all GPUs of its node copy.
#include <doctest/doctest.h>

#include "clusters.hpp"
#include "tests/about.hpp"

TEST_CASE("GPUs that share a switch share its link to the CPU") {
  // Two GPUs on each of four switches of a DGX-1, one link of 16 GB/s from each switch to its CPU, two switches on each CPU.
  const topology::Cluster dgx = topology_test::cluster_of("{preset: dgx-1v, nodes: 1}");
  for (std::size_t d = 0; d < 8; ++d) {
    const auto link = dgx.host_link(base::DeviceId(d));
    REQUIRE(link);
    CHECK(link->to_host.value() == test::about(8e9));
    CHECK(link->from_host.value() == test::about(8e9));
    CHECK(link->sharers == 4);
  }
}

TEST_CASE("a GPU alone on its switch has the whole link") {
  const topology::Cluster dgx = topology_test::cluster_of("{preset: dgx-h100, nodes: 2}");
  CHECK(dgx.host_link(base::DeviceId(9))->to_host.value() == test::about(64e9));
  CHECK(dgx.host_link(base::DeviceId(9))->sharers == 4);
}

TEST_CASE("without a CPU there is no way to one") {
  const topology::Cluster bare = topology_test::cluster_of(
      "{name: bare, nodes: 1, links: {wire: {bandwidth: 10 GB/s, latency: 1 us}}, node: {gpus: {type: v100-sxm2-16gb, count: 2}, "
      "components: "
      "[switch0], wires: [{between: [gpu0, switch0], link: wire}, {between: [gpu1, switch0], link: wire}]}}");
  CHECK(!bare.host_link(base::DeviceId(0)));
}
