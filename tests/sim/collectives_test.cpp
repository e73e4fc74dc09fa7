// Collectives against closed forms: S bytes, n ranks, alpha seconds per message, b bytes per second one way. Each is planned, and run
// on the engine, which knows nothing of the formulas.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/check.hpp"
#include "sim/channels/channels.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "tests/about.hpp"
#include "tests/sim/collective_run.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

using base::Bytes;
using sim::Algorithm;
using sim::Collective;
using sim::CollectiveKind;
using sim::plan_collective;
using test::about, test::devices, test::S, test::run, test::kBetweenBandwidth, test::kBetweenLatency, test::kInsideBandwidth,
    test::kInsideLatency, test::plain_cluster;
using topology::Cluster;
using topology::DeviceId;

Collective plan(CollectiveKind kind, std::span<const DeviceId> group, const Cluster& cluster, Algorithm a = Algorithm::automatic) {
  return plan_collective(kind, Bytes(S), group, cluster, {a});
}

// Seconds on the engine; the estimate must agree, as nothing else runs.
double timed(CollectiveKind kind, std::span<const DeviceId> group, const Cluster& cluster, Algorithm a = Algorithm::automatic) {
  const Collective c = plan(kind, group, cluster, a);
  const double seconds = run({c}, cluster);
  CHECK(seconds == about(c.estimate.value()));
  return seconds;
}

// Its one phase as that many equal steps, one after another.
Collective in_steps(Collective c, std::size_t steps) {
  sim::CollectivePhase& step = c.phases.at(0);
  step.latency = step.latency / static_cast<double>(steps);
  for (sim::CollectiveFlow& f : step.flows) f.bytes = f.bytes / static_cast<double>(steps);
  c.phases.resize(steps, step);
  return c;
}

double total_bytes(const Collective& c) {
  double sum = 0;
  for (const sim::CollectivePhase& p : c.phases)
    for (const sim::CollectiveFlow& f : p.flows) sum += f.bytes.value();
  return sum;
}

}  // namespace

TEST_CASE("on one crossbar: alpha-beta of every collective") {
  for (const int n : {2, 3, 4, 8}) {
    const Cluster cluster = plain_cluster(1, n);
    const auto group = devices(n);
    const double a = kInsideLatency, b = kInsideBandwidth;
    CHECK(timed(CollectiveKind::all_reduce, group, cluster, Algorithm::ring) == about(2 * (n - 1) * a + 2.0 * (n - 1) / n * S / b));
    CHECK(timed(CollectiveKind::all_gather, group, cluster) == about((n - 1) * a + (n - 1.0) / n * S / b));
    CHECK(timed(CollectiveKind::reduce_scatter, group, cluster) == about((n - 1) * a + (n - 1.0) / n * S / b));
    CHECK(timed(CollectiveKind::all_to_all, group, cluster) == about(a + (n - 1.0) / n * S / b));
    CHECK(timed(CollectiveKind::broadcast, group, cluster) == about((n - 1) * a + S / b));
    CHECK(plan(CollectiveKind::all_reduce, group, cluster).rings == 1);  // one ring already fills every wire
  }
  const Cluster cluster = plain_cluster(1, 8);
  CHECK(timed(CollectiveKind::send, std::array{DeviceId(3), DeviceId(5)}, cluster) == about(kInsideLatency + S / kInsideBandwidth));
}

TEST_CASE("across nodes of one GPU: alpha-beta of every collective") {
  for (const int n : {2, 3, 5, 6, 8}) {
    const Cluster cluster = plain_cluster(n, 1);
    const auto group = devices(n);
    const double a = kBetweenLatency, b = kBetweenBandwidth;
    CHECK(timed(CollectiveKind::all_reduce, group, cluster, Algorithm::ring) == about(2 * (n - 1) * a + 2.0 * (n - 1) / n * S / b));
    CHECK(timed(CollectiveKind::all_gather, group, cluster) == about((n - 1) * a + (n - 1.0) / n * S / b));
    CHECK(timed(CollectiveKind::all_to_all, group, cluster) == about(a + (n - 1.0) / n * S / b));
    CHECK(timed(CollectiveKind::broadcast, group, cluster) == about((n - 1) * a + S / b));
  }
  CHECK(timed(CollectiveKind::send, std::array{DeviceId(4), DeviceId(1)}, plain_cluster(5, 1)) ==
        about(kBetweenLatency + S / kBetweenBandwidth));
}

TEST_CASE("a double binary tree takes 2 ceil(log2 n) alpha + 2 S/b") {
  // From five nodes on some rank has two children in a tree: it sends S/2 up and 2 S/2 down there, and S/2 up as a leaf of the other.
  for (const int n : {5, 6, 8, 13, 16}) {
    const int height = static_cast<int>(std::ceil(std::log2(n)));
    const double expected = 2 * height * kBetweenLatency + 2 * S / kBetweenBandwidth;
    CHECK(timed(CollectiveKind::all_reduce, devices(n), plain_cluster(n, 1), Algorithm::tree) == about(expected));
  }
}

TEST_CASE("double binary trees: of height ceil(log2 n), and nobody has children in both but a root") {
  for (int n = 2; n <= 200; ++n) {
    const sim::TwoTrees t = sim::double_binary_tree(n);
    REQUIRE(t.height == static_cast<int>(std::ceil(std::log2(n))));
    std::vector<int> first(static_cast<std::size_t>(n)), second(first);
    for (const int p : t.first)
      if (p >= 0) ++first[static_cast<std::size_t>(p)];
    for (const int p : t.second)
      if (p >= 0) ++second[static_cast<std::size_t>(p)];
    REQUIRE(std::ranges::count(t.first, -1) == 1);
    REQUIRE(std::ranges::count(t.second, -1) == 1);
    for (std::size_t r = 0; r < first.size(); ++r) {
      const bool is_root = t.first[r] < 0 || t.second[r] < 0;
      REQUIRE((is_root || first[r] == 0 || second[r] == 0));
      REQUIRE(first[r] + second[r] <= (is_root ? 3 : 2));
    }
  }
}

TEST_CASE("across nodes of four GPUs with one NIC: the NIC is what counts") {
  // 3 nodes, n = 12, one ring: every NIC sends and receives what one edge carries, 2 * 11/12 S at 10 GB/s; alpha is that between nodes.
  const Cluster cluster = plain_cluster(3, 4);
  const auto group = devices(12);
  CHECK(timed(CollectiveKind::all_reduce, group, cluster, Algorithm::ring) ==
        about(22 * kBetweenLatency + 2.0 * 11 / 12 * S / kBetweenBandwidth));
  // Hierarchical: inside 2 * (3 alpha + 3/4 S/b); across, four rings share each NIC: 2 * 2/3 * S/4 each, and 4 alpha.
  const double inside = 3 * kInsideLatency + 0.75 * S / kInsideBandwidth;
  const double across = 4 * kBetweenLatency + 4 * (2 * 2.0 / 3 * S / 4) / kBetweenBandwidth;
  CHECK(timed(CollectiveKind::all_reduce, group, cluster, Algorithm::hierarchical) == about(2 * inside + across));
  CHECK(timed(CollectiveKind::all_gather, group, cluster, Algorithm::hierarchical) == about(inside + across / 2));
  CHECK(timed(CollectiveKind::reduce_scatter, group, cluster, Algorithm::hierarchical) == about(inside + across / 2));
  // Tree: chains of 3 messages inside; over 3 nodes height 2, and each tree is a path whose middle sends S/2 both ways: in one tree a
  // node is the middle and a leaf in the other, 2 * S/2 + S/2 at most.
  CHECK(timed(CollectiveKind::all_reduce, group, cluster, Algorithm::tree) ==
        about(2 * (3 * kInsideLatency + 2 * kBetweenLatency) + 1.5 * S / kBetweenBandwidth));
}

TEST_CASE("an all-to-all that members pass on: to the like in each node, and on inside it, both at once") {
  // 3 nodes of 4 with one NIC. Each rank sends 2/3 S to its likes, four of them by one NIC; inside, of `copies` S each keeps a quarter.
  const Cluster cluster = plain_cluster(3, 4);
  const auto group = devices(12);
  sim::CollectivePlanner planner(cluster, {});
  for (const double copies : {1.0, 2.0, 100.0}) {
    const Collective c = planner.plan(CollectiveKind::all_to_all, Bytes(S), group, {.copies = copies});
    CHECK(c.algorithm == Algorithm::forwarded);
    CHECK(total_bytes(c) == about(12 * S * (2.0 / 3 + copies * 3 / 4)));
    const double across = 4 * 2.0 / 3 * S / kBetweenBandwidth, inside = copies * 3 / 4 * S / kInsideBandwidth;
    CHECK(run({c}, cluster) >= test::about(kInsideLatency + kBetweenLatency + std::max(across, inside)));
    CHECK(run({c}, cluster) <= test::about(kInsideLatency + kBetweenLatency + across + inside));
    if (copies < 2) CHECK(run({c}, cluster) == about(kInsideLatency + kBetweenLatency + across));
  }
  // In one node nothing crosses; among nodes of one GPU nothing goes on.
  const Collective near = planner.plan(CollectiveKind::all_to_all, Bytes(S), devices(4), {.copies = 2});
  CHECK(run({near}, cluster) == about(kInsideLatency + 2 * 3.0 / 4 * S / kInsideBandwidth));
  const Cluster wide = plain_cluster(3, 1);
  const Collective far = sim::CollectivePlanner(wide, {}).plan(CollectiveKind::all_to_all, Bytes(S), devices(3), {.copies = 2});
  CHECK(run({far}, wide) == about(kBetweenLatency + 2.0 / 3 * S / kBetweenBandwidth));
}

TEST_CASE("an oversubscribed uplink is shared by what crosses it") {
  // Two leaves of two one-GPU nodes. Oversubscription 4: an uplink has 2 * 10 / 4 = 5 GB/s. A route between leaves takes the network's
  // latency twice: 10 us. A ring crosses each uplink once: half the speed of a ring under one leaf.
  const Cluster cluster = plain_cluster(4, 1, "{type: fat-tree, link: ethernet, nodes_per_leaf: 2, oversubscription: 4}");
  CHECK(timed(CollectiveKind::all_reduce, devices(4), cluster, Algorithm::ring) == about(6 * 10e-6 + 2 * 0.75 * S / 5e9));
  CHECK(timed(CollectiveKind::all_reduce, devices(2), cluster, Algorithm::ring) == about(2 * 7e-6 + S / 10e9));
  // All-to-all: 2 x 2 messages of S/4 go up from each leaf: S over 5 GB/s.
  CHECK(timed(CollectiveKind::all_to_all, devices(4), cluster) == about(10e-6 + S / 5e9));
}

TEST_CASE("two jobs that share a NIC take twice as long, and jobs that do not are not slowed") {
  const Cluster cluster = plain_cluster(2, 2);
  const std::array a = {DeviceId(0), DeviceId(2)}, b = {DeviceId(1), DeviceId(3)};
  const Collective first = plan(CollectiveKind::all_reduce, a, cluster), second = plan(CollectiveKind::all_reduce, b, cluster);
  CHECK(run({first}, cluster) == about(2 * kBetweenLatency + S / kBetweenBandwidth));
  CHECK(run({first, second}, cluster) == about(2 * kBetweenLatency + 2 * S / kBetweenBandwidth));
  const Cluster apart = plain_cluster(4, 1);
  const Collective left = plan(CollectiveKind::all_reduce, devices(2), apart),
                   right = plan(CollectiveKind::all_reduce, devices(2, 2), apart);
  CHECK(run({left, right}, apart) == about(run({left}, apart)));
}

TEST_CASE("a 2-GPU all-reduce sends S from each GPU") {
  for (const Cluster& cluster : {plain_cluster(1, 2), plain_cluster(2, 1), test::preset("summit", 1), test::preset("dgx-1v", 1)})
    for (const Algorithm a : {Algorithm::automatic, Algorithm::ring, Algorithm::tree})
      CHECK(total_bytes(plan(CollectiveKind::all_reduce, devices(2), cluster, a)) == 2 * S);
}

TEST_CASE("Summit inside a node: the ring 0-1-2-3-4-5, and the X-Bus is the bottleneck") {
  // NVLink would give 50 GB/s to one ring; a second takes the 14 GB/s that are left of the X-Bus's 64. The longest hop is NVLink,
  // X-Bus, NVLink: 1.3 + 0.6 + 1.3 us.
  const Cluster summit = test::preset("summit", 1);
  const Collective c = plan(CollectiveKind::all_reduce, devices(6), summit, Algorithm::ring);
  CHECK(c.rings == 2);
  CHECK(c.estimate.value() == about(10 * 3.2e-6 + 2.0 * 5 / 6 * S / 64e9));
  CHECK(run({c}, summit) == about(c.estimate.value()));
  const auto nodes = sim::by_node(devices(6), summit);
  CHECK(sim::find_channels(nodes, summit, 1, sim::Relays::none).front().path.front().members == devices(6));
  // Within a socket every wire is free both ways: two rings of 50 GB/s.
  CHECK(timed(CollectiveKind::all_reduce, devices(3), summit, Algorithm::ring) == about(4 * 1.3e-6 + 2.0 * 2 / 3 * S / 100e9));
}

TEST_CASE("Summit across nodes: one ring for each of two NICs") {
  // GPU - NVLink - CPU - PCIe - NIC - network - NIC - PCIe - CPU - NVLink - GPU: 1.3 + 0.5 + 1.5 + 0.5 + 1.3 us under one leaf; each
  // ring carries half over 12.5 GB/s.
  const Cluster summit = test::preset("summit", 4);
  const Collective c = plan(CollectiveKind::all_reduce, devices(24), summit, Algorithm::ring);
  CHECK(c.rings == 2);
  CHECK(c.estimate.value() == about(46 * 5.1e-6 + 2.0 * 23 / 24 * S / 25e9));
  CHECK(run({c}, summit) == about(c.estimate.value()));
  // A group with one GPU per node keeps to that GPU's NIC, so that its neighbours have the other.
  const Collective left = plan(CollectiveKind::all_reduce, devices(4, 0, 6), summit, Algorithm::ring),
                   right = plan(CollectiveKind::all_reduce, devices(4, 5, 6), summit, Algorithm::ring);
  CHECK(left.rings == 1);
  CHECK(run({left, right}, summit) == about(6 * 5.1e-6 + 2.0 * 3 / 4 * S / 12.5e9));
}

TEST_CASE("DGX-1V: rings over all six NVLinks of each GPU") {
  // The eight pairs with two links form a cycle, 50 GB/s each way; the eight with one form another, 25 GB/s each way: 150 GB/s in
  // all, which is every link of every GPU.
  const Cluster dgx = test::preset("dgx-1v", 1);
  const Collective c = plan(CollectiveKind::all_reduce, devices(8), dgx, Algorithm::ring);
  CHECK(c.rings == 4);
  const double latency = dgx.route(DeviceId(0), DeviceId(1)).latency.value();
  CHECK(c.estimate.value() == about(14 * latency + 2.0 * 7 / 8 * S / 150e9));
  CHECK(run({c}, dgx) == about(c.estimate.value()));
}

TEST_CASE("an NVSwitch that reduces: S (n+1)/n each way") {
  const Cluster dgx = test::preset("dgx-h100", 2);
  const auto group = devices(8);
  const Cluster::SwitchPaths paths = *dgx.in_network_switch(DeviceId(0));
  const double expected = 2 * (paths.up.latency + paths.down.latency).value() + S * 9 / 8 / paths.up.bandwidth.value();
  CHECK(timed(CollectiveKind::all_reduce, group, dgx) == about(expected));
  CHECK(plan(CollectiveKind::all_reduce, group, dgx).algorithm == Algorithm::in_switch);
  // Across nodes each GPU's eighth goes up and down two trees over its own NIC: two nodes, each tree one edge, S/16 both ways on each.
  const Collective both = plan(CollectiveKind::all_reduce, devices(16), dgx, Algorithm::in_switch_tree);
  CHECK(both.algorithm == Algorithm::in_switch_tree);
  const topology::Route between = dgx.route(DeviceId(0), DeviceId(8));
  CHECK(both.estimate.value() == about(2 * (paths.up.latency + paths.down.latency).value() + 2 * between.latency.value() +
                                       std::max(S * 9 / 8 / paths.up.bandwidth.value(), S / 8 / between.bandwidth.value())));
  CHECK(plan(CollectiveKind::all_gather, group, dgx).algorithm == Algorithm::ring);
  // Where it is switched off, a ring: 2 (n-1)/n S over each wire.
  const Cluster off = test::cluster_of("{preset: dgx-h100, network_profile: none, in_network: false}");
  const double hop = off.route(DeviceId(0), DeviceId(1)).latency.value();
  CHECK(timed(CollectiveKind::all_reduce, group, off) == about(14 * hop + 2.0 * 7 / 8 * S / 450e9));
}

TEST_CASE("eight NICs carry eight shares") {
  // Two nodes of eight GPUs and eight 25 GB/s NICs: 200 GB/s. Inside, each GPU's port (300 GB/s) carries all eight rings.
  const Cluster dgx = test::preset("dgx-a100-80gb", 2);
  const Collective c = plan(CollectiveKind::all_reduce, devices(16), dgx, Algorithm::ring);
  CHECK(c.rings == 8);
  double latency = 0;
  for (const sim::CollectiveFlow& f : c.phases.front().flows) {
    double sum = 0;
    for (const topology::LinkId l : f.links) sum += dgx.link(l).latency.value();
    latency = std::max(latency, sum);
  }
  CHECK(c.estimate.value() == about(30 * latency + 2.0 * 15 / 16 * S / 200e9));
  CHECK(run({c}, dgx) == about(c.estimate.value()));
}

namespace {

// The group of every `stride`-th GPU of each of `nodes` nodes, from GPU `first` on.
std::vector<DeviceId> strided(const Cluster& cluster, int first, int stride) {
  std::vector<DeviceId> group;
  for (const topology::Device& d : cluster.devices())
    if (d.index_in_node >= first && (d.index_in_node - first) % stride == 0)
      group.push_back(cluster.node_devices(d.node)[static_cast<std::size_t>(d.index_in_node)]);
  return group;
}

// Bytes per second: what every rank sends of a collective of S bytes, over the time (nccl-tests' busbw).
double bus_bandwidth(CollectiveKind kind, std::size_t ranks, double seconds) {
  const double n = static_cast<double>(ranks), sent = (n - 1) / n * S;
  return (kind == CollectiveKind::all_reduce ? 2 : 1) * sent / seconds;
}

}  // namespace

TEST_CASE("a group uses the NICs of its own GPUs: bus bandwidth is NICs of members x NIC, up to what its rings inside the node carry") {
  // Every preset with several nodes, every number of members in a node that divides it, all such groups of the node at once: the groups'
  // NICs are different ones where each GPU has its own, so none slows another; where two GPUs share a NIC, two groups may share it.
  for (const char* const name : {"dgx-1v", "dgx-2", "dgx-a100-80gb", "dgx-h100", "dgx-h200", "dgx-b200", "summit", "aws-p5.48xlarge"})
    for (const int nodes : {2, 4, 5}) {
      const Cluster cluster = test::preset(name, nodes);
      const int gpus = static_cast<int>(cluster.node_devices(0).size());
      for (int members = 1; members <= gpus; ++members) {
        if (gpus % members != 0) continue;
        const int stride = gpus / members;
        std::vector<std::vector<DeviceId>> groups;
        for (int first = 0; first < stride; ++first) groups.push_back(strided(cluster, first, stride));
        // By hand: each NIC of the node carries the traffic of the groups that own it, an equal part each.
        std::map<int, int> groups_on;  // NIC -> groups
        std::vector<std::set<int>> nics(groups.size());
        for (std::size_t g = 0; g < groups.size(); ++g) {
          for (const DeviceId d : groups[g])
            if (cluster.device(d).node == 0) nics[g].insert(cluster.nics_of(d).front());
          for (const int nic : nics[g]) ++groups_on[nic];
        }
        const double nic = cluster.route(groups[0].front(), groups[0].back()).bandwidth.value();
        double by_nics = 0;
        for (const int n : nics[0]) by_nics += nic / groups_on[n];
        // Inside: the same rings without a network, which a node of one group has for itself.
        double inside = 1e30;
        if (members > 1) {
          std::vector<Collective> alone;
          for (const auto& g : groups)
            alone.push_back(
                plan(CollectiveKind::all_gather, std::span(g).first(static_cast<std::size_t>(members)), cluster, Algorithm::ring));
          inside = bus_bandwidth(CollectiveKind::all_gather, static_cast<std::size_t>(members), run(alone, cluster));
        }
        for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
          std::vector<Collective> together;
          for (const auto& g : groups) together.push_back(plan(kind, g, cluster, Algorithm::ring));
          const double reached = bus_bandwidth(kind, groups[0].size(), run(together, cluster));
          CAPTURE(name);
          CAPTURE(nodes);
          CAPTURE(members);
          CAPTURE(to_text(kind));
          CHECK(reached / std::min(by_nics, inside) == test::about(1, 0.1));
        }
      }
    }
}

TEST_CASE("rings stay on their rails: no message climbs above one") {
  for (const int members : {1, 2, 4, 8}) {
    const Cluster dgx = test::preset("dgx-h100", 4);
    const Collective ring = plan(CollectiveKind::all_gather, strided(dgx, 0, 8 / members), dgx, Algorithm::ring);
    for (const sim::CollectiveFlow& f : ring.phases.front().flows)
      for (const topology::LinkId l : f.links) CHECK(dgx.link(l).name.find("spine") == std::string::npos);
  }
  // Of five nodes the fifth ends a ring as the first begins it: the way back leaves the rail, and nothing else does.
  const Cluster dgx = test::preset("dgx-h100", 5);
  int climbing = 0;
  const Collective odd = plan(CollectiveKind::all_gather, devices(40), dgx, Algorithm::ring);
  for (const sim::CollectiveFlow& f : odd.phases.front().flows)
    climbing += std::ranges::any_of(f.links, [&](topology::LinkId l) { return dgx.link(l).name.ends_with("spine"); });
  CHECK(climbing == 8);
}

TEST_CASE("messages of an all-to-all change rails over the fabric, by members of the group alone") {
  const Cluster dgx = test::preset("dgx-h100", 2);
  const auto climbs = [&](const Collective& c) {
    return std::ranges::any_of(c.phases.front().flows, [&](const sim::CollectiveFlow& f) {
      return std::ranges::any_of(f.links, [&](topology::LinkId l) { return dgx.link(l).name.ends_with("spine"); });
    });
  };
  CHECK(!climbs(plan(CollectiveKind::all_to_all, devices(16), dgx)));
  CHECK(climbs(plan(CollectiveKind::send, std::array{DeviceId(0), DeviceId(9)}, dgx)));
  CHECK(!climbs(plan(CollectiveKind::send, std::array{DeviceId(1), DeviceId(9)}, dgx)));
  // Each GPU sends S/16 to each of eight others over its NIC: 8 S/16 at 50 GB/s. With N nodes a bus bandwidth of N/(N-1) NICs.
  const Collective c = plan(CollectiveKind::all_to_all, devices(16), dgx);
  CHECK(run({c}, dgx) == test::about(S / 2 / 50e9, 0.01));
}

TEST_CASE("a message between GPUs of several NICs takes them all") {
  const Cluster cluster = test::cluster_of(
      "{name: two NICs, nodes: 2, links: {pcie: {bandwidth: 64 GB/s, latency: 1 us}, ib: {bandwidth: 10 GB/s, latency: 2 us}}, node: "
      "{gpus: "
      "{type: v100-sxm2-16gb, count: 1}, components: [switch0, nic0, nic1], wires: [{between: [gpu0, switch0], link: pcie}, {between: "
      "[nic0, "
      "switch0], link: pcie}, {between: [nic1, switch0], link: pcie}]}, network: {type: rail, link: ib}}");
  // 2 x 10 GB/s; PCIe 1 + 1, network 2, PCIe 1 + 1 us.
  CHECK(timed(CollectiveKind::send, devices(2), cluster) == about(6e-6 + S / 20e9));
  CHECK(timed(CollectiveKind::all_gather, devices(2), cluster, Algorithm::ring) == about(6e-6 + S / 2 / 20e9));
}

TEST_CASE("step by step and as one flow per edge take the same time alone") {
  for (const Cluster& cluster : {plain_cluster(1, 4), plain_cluster(3, 2), test::preset("summit", 2), test::preset("dgx-1v", 1)}) {
    const auto group = devices(cluster.device_count());
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      const std::size_t steps = (group.size() - 1) * (kind == CollectiveKind::all_reduce ? 2 : 1);
      const Collective fused = plan(kind, group, cluster, Algorithm::ring);
      CHECK(run({in_steps(fused, steps)}, cluster) == about(timed(kind, group, cluster, Algorithm::ring)));
    }
  }
}

TEST_CASE("automatic takes what is quickest: a tree for short messages among many nodes, rings for long ones") {
  const Cluster cluster = plain_cluster(32, 1);
  CHECK(plan_collective(CollectiveKind::all_reduce, Bytes(1e4), devices(32), cluster).algorithm == Algorithm::tree);
  CHECK(plan_collective(CollectiveKind::all_reduce, Bytes(1e9), devices(32), cluster).algorithm == Algorithm::ring);
  for (const double bytes : {0.0, 1e3, 1e6, 1e9})
    for (const Algorithm a : {Algorithm::ring, Algorithm::tree})
      CHECK(plan_collective(CollectiveKind::all_reduce, Bytes(bytes), devices(32), cluster).estimate <=
            plan_collective(CollectiveKind::all_reduce, Bytes(bytes), devices(32), cluster, {a}).estimate);
}

TEST_CASE("a group of one does nothing") {
  const Cluster cluster = plain_cluster(1, 2);
  CHECK(plan(CollectiveKind::all_reduce, devices(1), cluster).phases.empty());
  CHECK_THROWS_AS(static_cast<void>(plan(CollectiveKind::all_reduce, std::array{DeviceId(1), DeviceId(1)}, cluster)), base::InternalError);
}

TEST_CASE("whatever the algorithm and the group, the bytes that are sent are those of the collective") {
  // All-reduce 2 (n-1) S; all-gather, reduce-scatter, broadcast and all-to-all (n-1) S. In a ring every GPU sends the same.
  const std::array clusters = {plain_cluster(4, 4), test::preset("summit", 3), test::preset("dgx-1v", 2), test::preset("dgx-a100-40gb", 2),
                               test::preset("pcie-v100", 2)};
  CHECK(rc::check("bytes", [&] {
    const Cluster& cluster = clusters[*rc::gen::inRange<std::size_t>(0, clusters.size())];
    const int n = *rc::gen::inRange(2, cluster.device_count() + 1);
    auto group = devices(cluster.device_count());
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) std::swap(group[i], group[*rc::gen::inRange(i, group.size())]);
    group.resize(static_cast<std::size_t>(n));
    for (const Algorithm a : {Algorithm::automatic, Algorithm::ring, Algorithm::tree, Algorithm::hierarchical}) {
      RC_ASSERT(std::abs(total_bytes(plan(CollectiveKind::all_reduce, group, cluster, a)) - 2 * (n - 1) * S) < 1);
      for (const CollectiveKind k :
           {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::broadcast, CollectiveKind::all_to_all})
        RC_ASSERT(std::abs(total_bytes(plan(k, group, cluster, a)) - (n - 1) * S) < 1);
    }
    std::map<DeviceId, double> sent;
    const Collective ring = plan(CollectiveKind::all_reduce, group, cluster, Algorithm::ring);
    for (const sim::CollectiveFlow& f : ring.phases.front().flows) sent[f.from] += f.bytes.value();
    RC_ASSERT(sent.size() == group.size());
    for (const auto& [device, bytes] : sent) RC_ASSERT(std::abs(bytes - 2.0 * (n - 1) / n * S) < 1);
  }));
}

TEST_CASE("the engine is never quicker than the estimate, and for rings as quick") {
  const std::array clusters = {plain_cluster(4, 4), test::preset("summit", 3), test::preset("dgx-1v", 2), test::preset("dgx-a100-40gb", 2),
                               test::preset("pcie-v100", 2)};
  CHECK(rc::check("estimate", [&] {
    const Cluster& cluster = clusters[*rc::gen::inRange<std::size_t>(0, clusters.size())];
    const int n = *rc::gen::inRange(2, cluster.device_count() + 1), first = *rc::gen::inRange(0, cluster.device_count() - n + 1);
    for (const CollectiveKind k :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::broadcast})
      for (const Algorithm a : {Algorithm::ring, Algorithm::automatic}) {
        const Collective c = plan(k, devices(n, first), cluster, a);
        const double seconds = run({c}, cluster);
        RC_ASSERT(seconds >= c.estimate.value() * (1 - 1e-9));
        if (c.algorithm == Algorithm::ring) RC_ASSERT(seconds <= c.estimate.value() * (1 + 1e-9));
      }
  }));
}

// tools/benchmarks/collective_benchmark.cpp says how long it takes.
// A tree of n nodes has n - 1 edges, so that the share of each GPU grows with n, to a limit.
TEST_CASE("a plan has hardly more flows for each GPU of a group of 1024 than of one of 64") {
  const auto flows_of_each = [](int nodes) {
    std::size_t flows = 0;
    for (const sim::CollectivePhase& p : plan(CollectiveKind::all_reduce, devices(8 * nodes), test::preset("dgx-a100-80gb", nodes)).phases)
      flows += p.flows.size();
    return static_cast<double>(flows) / (8 * nodes);
  };
  CHECK(flows_of_each(128) < 8);
  CHECK(flows_of_each(8) > 6);
}
