// Channels: cycles of one kind of route, and what a link costs of which a fault leaves a part. S bytes, n ranks.
#include "sim/channels/channels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/collectives/plan_collective.hpp"
#include "tests/about.hpp"
#include "tests/sim/collective_run.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

using sim::Algorithm;
using sim::CollectiveKind;
using test::about, test::devices, test::S;
using topology::Cluster;

bool crosses(const sim::Collective& c, const Cluster& cluster, const std::string& type) {
  return std::ranges::any_of(c.phases, [&](const sim::CollectivePhase& p) {
    return std::ranges::any_of(p.flows, [&](const sim::CollectiveFlow& f) {
      return std::ranges::any_of(f.links, [&](topology::LinkId l) { return cluster.link(l).type == type; });
    });
  });
}

// A section with one more key.
std::string with(std::string section, const std::string& key) { return section.insert(section.rfind('}'), ", " + key); }

double seconds(CollectiveKind kind, const Cluster& cluster, Algorithm a) {
  const sim::Collective c = sim::plan_collective(kind, base::Bytes(S), devices(cluster.device_count()), cluster, {.algorithm = a});
  return test::run({c}, cluster);
}

// Eight GPUs on a crossbar of 100 GB/s, a NIC of 10 GB/s each, no latencies.
std::string crossbars(int nodes) {
  return fmt::format(
      "{{nodes: {}, links: {{nvlink: {{bandwidth: 100 GB/s, latency: 0 s}}, pcie: {{bandwidth: 1 TB/s, latency: 0 s}}, ib: {{bandwidth: 10 "
      "GB/s, latency: 0 s}}}}, node: {{gpus: {{type: a100-sxm-80gb, count: 8}}, components: [switch0, \"nic[0-7]\"], wires: [{{between: "
      "[\"gpu[0-7]\", switch0], link: nvlink}}, {{between: [\"gpu[0-7]\", \"nic[0-7]\"], link: pcie}}]}}, network: {{type: switch, link: "
      "ib}}}}",
      nodes);
}

}  // namespace

TEST_CASE("rings over fast wires have none beside them through the host") {
  // Frontier: the two chips of a package are joined by 4 links of 50 GB/s, and 6 leave each package. A ring enters a package and leaves it
  // once, so that all rings together carry 6 x 50 GB/s. The host's links are 36 GB/s to each chip, and idle.
  const Cluster frontier = test::preset("mi250x-frontier", 1);
  const sim::Collective ring = sim::plan_collective(CollectiveKind::all_gather, base::Bytes(S), devices(8), frontier);
  CHECK_FALSE(crosses(ring, frontier, "host"));
  double latency = 0;
  for (const sim::CollectivePhase& p : ring.phases) latency += p.latency.value();
  CHECK(ring.estimate.value() - latency == about(7.0 / 8 * S / 300e9));
  CHECK(test::run({ring}, frontier) == about(ring.estimate.value()));
  // A wider or a narrower way through the host changes nothing.
  for (const char* scale : {"10x", "0.001x"}) {
    const Cluster other = test::cluster_of(fmt::format("{{preset: mi250x-frontier, nodes: 1, links.host.bandwidth: {}}}", scale));
    CHECK(seconds(CollectiveKind::all_gather, other, Algorithm::automatic) == test::run({ring}, frontier));
  }
  // Where no wires pass all members, the ring takes the nearest routes that do: GPUs 0 and 4 have only the host in common.
  const std::array apart = {base::DeviceId(0), base::DeviceId(4)};
  CHECK(crosses(sim::plan_collective(CollectiveKind::all_gather, base::Bytes(S), apart, frontier), frontier, "host"));
}

TEST_CASE("messages of one collective move in step, also where a tree sends more over some hops than over others") {
  // By trees over two nodes every channel carries an eighth: along a node's path both ways S/8 on each hop. Each GPU is within 6 of the
  // paths, where it sends 2 S/8, and ends 2, where it sends S/8: 14/8 S over its wire, more than the S of all 8 NICs together.
  const Cluster c = test::cluster_of(crossbars(2));
  const sim::Collective tree =
      sim::plan_collective(CollectiveKind::all_reduce, base::Bytes(S), devices(16), c, {.algorithm = Algorithm::tree});
  CHECK(tree.estimate.value() == about(14.0 / 8 * S / 100e9));
  CHECK(test::run({tree}, c) == about(tree.estimate.value()));
}

TEST_CASE("a link with a share x left costs at least nothing, at most 1/x, and more the less is left") {
  // Channels are those of the sound cluster, so every link carries what it did; one of them takes 1/x as long for it.
  struct Case {
    std::string cluster, fault;
  };
  const std::vector<Case> cases = {
      {crossbars(2), "node: 0, between: [gpu0, switch0]"},
      {crossbars(2), "node: 1, nic: nic3"},
      {crossbars(1), "node: 0, between: [gpu5, switch0]"},
      {"{preset: dgx-h100, nodes: 2}", "node: 0, between: [gpu0, switch0]"},
      {"{preset: dgx-h100, nodes: 3}", "node: 2, nic: nic5"},
      {"{preset: dgx-a100-80gb, nodes: 2, network_profile: none}", "node: 1, between: [switch1, nic0]"},
      {"{preset: dgx-1v, nodes: 1, network_profile: none}", "node: 0, between: [gpu0, gpu3]"},
      {"{preset: dgx-1v, nodes: 2, network_profile: none}", "node: 0, between: [gpu1, gpu2]"},
      {"{preset: mi300x-node, nodes: 1}", "node: 0, between: [gpu1, gpu6]"},
      {"{preset: mi250x-frontier, nodes: 2}", "node: 1, between: [gpu2, gpu3]"},
      {"{preset: summit, nodes: 2, network_profile: none}", "node: 0, between: [cpu0, cpu1]"},
  };
  for (const Case& c : cases) {
    const Cluster sound = test::cluster_of(c.cluster);
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all})
      for (const Algorithm a : {Algorithm::automatic, Algorithm::ring, Algorithm::tree}) {
        const double base = seconds(kind, sound, a);
        double before = base;
        for (const double left : {0.99, 0.9, 0.75, 0.5, 0.1}) {
          const Cluster faulty = test::cluster_of(with(c.cluster, fmt::format("faults: [{{{}, left: {}}}]", c.fault, left)));
          const double now = seconds(kind, faulty, a);
          CAPTURE(c.cluster);
          CAPTURE(c.fault);
          CAPTURE(to_text(kind));
          CAPTURE(to_text(a));
          CAPTURE(left);
          CHECK(now >= about(before));
          CHECK(now <= about(base / left));
          before = now;
        }
      }
  }
  // The crossbar's ring of one node is as slow as its narrowest link.
  const Cluster half = test::cluster_of(with(crossbars(1), "faults: [{node: 0, between: [gpu0, switch0], left: 0.5}]"));
  CHECK(seconds(CollectiveKind::all_gather, half, Algorithm::ring) == about(7.0 / 8 * S / 50e9));
}

TEST_CASE("a fault that leaves a part of a link leaves the channels as they are, one that leaves nothing does not") {
  const auto hops = [](const std::string& faults) {
    const Cluster c = test::cluster_of(with("{preset: dgx-1v, nodes: 1, network_profile: none}", "faults: [" + faults + "]"));
    std::vector<std::pair<base::DeviceId, base::DeviceId>> ends;
    for (const sim::Hop& h : sim::ring_hops(sim::find_channels(sim::by_node(devices(8), c), c, sim::kMostChannels, sim::Relays::none)))
      ends.emplace_back(h.from, h.to);
    return ends;
  };
  CHECK(hops("{node: 0, between: [gpu0, gpu3], left: 0.1}") == hops(""));
  CHECK(hops("{node: 0, gpu: gpu0, slowdown: 2}") == hops(""));
  CHECK(hops("{node: 0, between: [gpu0, gpu3]}") != hops(""));
}
