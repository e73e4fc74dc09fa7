// Collectives and iterations on every kind of network, on domains of several nodes and with faults, against closed forms. S bytes, n ranks;
// a network link has 10 GB/s and 3 us, the wires to it cost nothing.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "sim/collectives/plan_collective.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"
#include "tests/sim/collective_run.hpp"
#include "tests/sim/plan_builder.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

using sim::Algorithm;
using sim::CollectiveKind;
using test::about, test::devices, test::S;
using topology::Cluster;

constexpr double kBandwidth = 10e9, alpha = 3e-6;

Cluster nodes_on(int nodes, const std::string& network, double gigabytes = 10, const std::string& faults = "") {
  return test::cluster_of(fmt::format(
      "{{nodes: {}, links: {{wire: {{bandwidth: 10 TB/s, latency: 0 s}}, ib: {{bandwidth: {} GB/s, latency: 3 us}}}}, node: {{gpus: "
      "{{type: "
      "h100-sxm-80gb, count: 1}}, components: [nic0], wires: [{{between: [gpu0, nic0], link: wire}}]}}, network: {}, faults: [{}]}}",
      nodes, gigabytes, network, faults));
}

// Seconds on the engine; the estimate must agree, as nothing else runs.
double timed(CollectiveKind kind, int ranks, const Cluster& cluster, Algorithm a = Algorithm::automatic) {
  const sim::Collective c = sim::plan_collective(kind, base::Bytes(S), devices(ranks), cluster, {.algorithm = a});
  const double seconds = test::run({c}, cluster);
  CHECK(seconds == about(c.estimate.value()));
  return seconds;
}

std::map<std::string, double> bytes_by_link(const sim::Collective& c, const Cluster& cluster) {
  std::map<std::string, double> bytes;
  for (const sim::CollectivePhase& p : c.phases)
    for (const sim::CollectiveFlow& f : p.flows)
      for (const topology::LinkId l : f.links) bytes[cluster.link(l).name] += f.bytes.value();
  return bytes;
}

sim::SimulationResult trained(const Cluster& cluster, int gpus, bool fold = true) {
  return sim::simulate_plan(test::plan_of(test::mlp(4, 4096, 1024 * gpus), {{"*", {{"b", gpus}}}}, gpus), cluster, {.fold = fold});
}

}  // namespace

TEST_CASE("torus: a ring in the order of its places has a link for each hop") {
  // A hop is the NIC's link and one between two places: 2 alpha.
  const Cluster c = nodes_on(8, "{type: torus, link: ib, dimensions: [8]}");
  CHECK(timed(CollectiveKind::all_reduce, 8, c, Algorithm::ring) == about(14 * 2 * alpha + 14.0 / 8 * S / kBandwidth));
  CHECK(timed(CollectiveKind::all_gather, 8, c) == about(7 * 2 * alpha + 7.0 / 8 * S / kBandwidth));
}

TEST_CASE("torus of 8 in a ring: an all-to-all takes 10/8 S/b") {
  // Messages of S/8. Forwards go those to the places 1 to 4 ahead: a link carries d of those to distance d, 1 + 2 + 3 + 4 = 10. Backwards
  // 1 + 2 + 3 = 6, and a NIC sends 7. The farthest message crosses its NIC's link and four more.
  CHECK(timed(CollectiveKind::all_to_all, 8, nodes_on(8, "{type: torus, link: ib, dimensions: [8]}")) ==
        about(5 * alpha + 10.0 / 8 * S / kBandwidth));
}

TEST_CASE("dragonfly: an all-to-all is bound by the links between groups") {
  // Two groups of four routers with a node each: 4 x 4 messages of S/8 leave a group, 2 S over the links between the two, which share them
  // evenly. The farthest message crosses a NIC's, a local, a global and a local link.
  const auto fly = [](int links) {
    return nodes_on(8, fmt::format("{{type: dragonfly, link: ib, nodes_per_router: 1, routers_per_group: 4, global_links: {}}}", links));
  };
  CHECK(timed(CollectiveKind::all_to_all, 8, fly(1)) == about(4 * alpha + 2 * S / kBandwidth));
  CHECK(timed(CollectiveKind::all_to_all, 8, fly(2)) == about(4 * alpha + S / kBandwidth));
}

TEST_CASE("three tiers: an all-to-all is bound by what leaves a pod") {
  // Pods of two leaves with two nodes: 4 x 10 / 4 = 10 GB/s leave a pod, and 4 x 4 messages of S/8 do. 3 links cost latency on the way up.
  const Cluster c = nodes_on(8, "{type: fat-tree, link: ib, nodes_per_leaf: 2, leaves_per_pod: 2, pod_oversubscription: 4}");
  CHECK(timed(CollectiveKind::all_to_all, 8, c) == about(3 * alpha + 2 * S / kBandwidth));
  // Not oversubscribed, the NICs bind.
  const Cluster wide = nodes_on(8, "{type: fat-tree, link: ib, nodes_per_leaf: 2, leaves_per_pod: 2}");
  CHECK(timed(CollectiveKind::all_to_all, 8, wide) == about(3 * alpha + 7.0 / 8 * S / kBandwidth));
}

TEST_CASE("custom: an all-to-all over one cable between two switches") {
  // 2 x 2 messages of S/4 cross it each way, 3/4 S leave a NIC.
  const std::string two =
      "{type: custom, link: ib, switches: [a, b], attach: [{nodes: 0-1, to: a}, {nodes: 2-3, to: b}], links: [{between: [a, b]}]}";
  CHECK(timed(CollectiveKind::all_to_all, 4, nodes_on(4, two)) == about(2 * alpha + S / kBandwidth));
}

TEST_CASE("custom: a tree of two tiers by hand carries what the fat tree does") {
  // Of the tree's links only those on the way up have latency, of custom ones all: one alpha more.
  const std::string network =
      "{type: custom, link: ib, switches: [a, b, core], attach: [{nodes: 0-1, to: a}, {nodes: 2-3, to: b}], "
      "links: [{between: [a, core], count: 2}, {between: [b, core], count: 2}]}";
  const Cluster custom = nodes_on(4, network), tree = nodes_on(4, "{type: fat-tree, link: ib, nodes_per_leaf: 2}");
  CHECK(timed(CollectiveKind::all_to_all, 4, custom) == about(timed(CollectiveKind::all_to_all, 4, tree) + alpha));
}

TEST_CASE("a link that has failed is gone round, and what is left is shared") {
  // Ring of 4 without its link between places 0 and 1. Ring all-gather: hops 1->2, 2->3, 3->0 over one link, 0->1 over three, 0->3->2->1,
  // each against the direction of the others: no link carries two. A hop's latency is that of the longest, 4 alpha.
  const Cluster c = nodes_on(4, "{type: torus, link: ib, dimensions: [4]}", 10, "{between: [place0, place1]}");
  CHECK(timed(CollectiveKind::all_gather, 4, c) == about(3 * 4 * alpha + 3.0 / 4 * S / kBandwidth));
}

TEST_CASE("in a domain collectives go over the fabric, whatever the node") {
  // 2 nodes x 2 GPUs: as four GPUs on one crossbar of 100 GB/s and 2 us.
  const std::string text =
      "{nodes: 2, links: {nvlink: {bandwidth: 100 GB/s, latency: 1 us}}, node: {gpus: {type: h100-sxm-80gb, count: 2}, domain: {nodes: 2, "
      "link: nvlink}}}";
  const Cluster c = test::cluster_of(text);
  CHECK(timed(CollectiveKind::all_reduce, 4, c, Algorithm::ring) == about(6 * 2e-6 + 6.0 / 4 * S / 100e9));
  CHECK(timed(CollectiveKind::all_to_all, 4, c) == about(2e-6 + 3.0 / 4 * S / 100e9));
}

TEST_CASE("between racks every NIC of a domain carries an equal share") {
  // 2 domains of 4 trays with 4 GPUs and 4 NICs: 16 channels. A ring all-reduce of 32 ranks sends 2 x 31/32 S over every edge of every
  // channel, a 16th of it over each.
  const Cluster c =
      test::cluster_of("{preset: gb200-nvl72, nodes: 8, node.domain.segment: 4, node.domain.nodes: 4, network_profile: none}");
  const sim::Collective ring =
      sim::plan_collective(CollectiveKind::all_reduce, base::Bytes(S), devices(32), c, {.algorithm = Algorithm::ring});
  CHECK(ring.rings == 16);
  const auto bytes = bytes_by_link(ring, c);
  int nics = 0;
  for (const auto& [name, sum] : bytes)
    if (name.find("->rail") != std::string::npos) {
      CHECK(sum == about(2 * 31.0 / 32 * S / 16));
      ++nics;
    }
  CHECK(nics == 32);
  CHECK(std::ranges::none_of(bytes, [](const auto& l) { return l.first.find("spine") != std::string::npos; }));
  // A GPU's NVLinks carry all channels, at most 2 x 31/32 S, so the NICs bind: 16 x 50 < 900 GB/s.
  double latency = 0;
  for (const auto& p : ring.phases) latency += p.latency.value();
  CHECK(ring.estimate.value() - latency == about(2 * 31.0 / 32 * S / (16 * 50e9)));
}

TEST_CASE("between racks of GB200 a ring reaches what was measured, within 6 %") {
  // NVIDIA/nccl issue 1801: three racks, InfiniBand alone between them, ring all-reduce of 16 GiB: 197 GB/s of bus bandwidth with four GPUs
  // of each rack, 394 with eight. Nothing here was fitted to it.
  for (const auto& [trays, measured] : {std::pair(1, 197e9), std::pair(2, 394e9)}) {
    const int gpus = 3 * 4 * trays;
    const Cluster c = test::cluster_of(
        fmt::format("{{preset: gb200-nvl72, nodes: {}, node.domain: {{nodes: {}, segment: {}}}}}", 3 * trays, trays, trays));
    const double bytes = 16.0 * 1024 * 1024 * 1024;
    const sim::Collective ring =
        sim::plan_collective(CollectiveKind::all_reduce, base::Bytes(bytes), devices(gpus), c, {.algorithm = Algorithm::ring});
    CHECK(2.0 * (gpus - 1) / gpus * bytes / ring.estimate.value() == test::about(measured, 0.06));
  }
}

TEST_CASE("an NVLink switch of a rack reduces for all of its GPUs") {
  // As in one node (in_switch.cpp): S (n+1)/n each way at 900 GB/s, up and down twice 0.6 us.
  const Cluster c = test::cluster_of("{preset: gb200-nvl72, network_profile: none}");
  CHECK(timed(CollectiveKind::all_reduce, 72, c, Algorithm::in_switch) == about(2 * 0.6e-6 + 73.0 / 72 * S / 900e9));
}

TEST_CASE("of the GPUs of two racks 32 reduce, and send what they have reduced to the other") {
  // Either rack sends half of the buffer up one tree and half down the other: S, by the adapters of 32 GPUs, each S/32.
  const Cluster c = test::cluster_of("{preset: gb200-nvl72, nodes: 36, network_profile: none}");
  const sim::Collective all =
      sim::plan_collective(CollectiveKind::all_reduce, base::Bytes(S), devices(144), c, {.algorithm = Algorithm::in_switch_tree});
  std::map<std::uint32_t, double> sent;
  for (const sim::CollectiveFlow& f : all.phases.front().flows)
    if (c.device(f.from).domain != c.device(f.to).domain) sent[f.from.value] += f.bytes.value();
  CHECK(sent.size() == 2 * 32);
  for (const auto& [gpu, bytes] : sent) CHECK(bytes == about(S / 32));
}

TEST_CASE("links between switches do not keep the members of a ring apart") {
  // Two stages of four nodes, data-parallel; leaves or routers of two nodes. Hops 1->2 and 3->0 of a stage's ring leave theirs, hops 0->1
  // and 2->3 do not. A leaf's uplink has what its two NICs have, 20 GB/s, and one NIC of 10 GB/s feeds the ring's link between two routers:
  // neither is ever the narrowest, and all nodes of a stage do the same. An uplink of 20 / 4 = 5 GB/s is: it sets the pace of the whole
  // ring.
  const pcg::Plan plan = test::two_stages_of(test::mlp(4, 1024, 64), 4, 3, 1);
  REQUIRE(pcg::violations(plan).empty());
  const auto folded_time = [&](const std::string& network) {
    const Cluster c = nodes_on(8, network);
    const auto folded = sim::simulate_plan(plan, c, {.fold = true}), whole = sim::simulate_plan(plan, c, {.fold = false});
    CHECK(folded.iteration_time.value() == about(whole.iteration_time.value()));
    CHECK(folded.bytes.by_link.at("ib").value() == about(whole.bytes.by_link.at("ib").value()));
    CHECK(folded.simulated_devices == 2);
    return folded.iteration_time;
  };
  folded_time("{type: dragonfly, link: ib, nodes_per_router: 2, routers_per_group: 4}");
  CHECK(folded_time("{type: fat-tree, link: ib, nodes_per_leaf: 2, oversubscription: 4}") >
        folded_time("{type: fat-tree, link: ib, nodes_per_leaf: 2}"));
}

TEST_CASE("a slow GPU sets the pace of all that wait for it") {
  const std::string dgx = "{preset: dgx-h100, network_profile: none, faults: [";
  std::string all;
  for (int g = 0; g < 8; ++g) all += fmt::format("{{node: 0, gpu: gpu{}, slowdown: 1.5}}, ", g);
  const auto sound = trained(test::cluster_of(dgx + "]}"), 8);
  const auto one = trained(test::cluster_of(dgx + "{node: 0, gpu: gpu5, slowdown: 1.5}]}"), 8);
  const auto every = trained(test::cluster_of(dgx + all + "]}"), 8);
  CHECK(one.iteration_time.value() == about(every.iteration_time.value()));
  CHECK(one.iteration_time > sound.iteration_time * 1.2);
  CHECK(one.simulated_devices == 2);
  CHECK(every.simulated_devices == 1);
  CHECK(trained(test::cluster_of(dgx + "{node: 0, gpu: gpu5, slowdown: 1.5}]}"), 8, false).iteration_time.value() ==
        about(one.iteration_time.value()));
}

TEST_CASE("a lost NIC costs what its channel carried") {
  // 2 x 8 GPUs with 8 NICs of 50 GB/s: 8 channels; without one NIC of one node 7.
  const auto c = [](const std::string& faults) {
    return test::cluster_of("{preset: dgx-h100, nodes: 2, network_profile: none, faults: [" + faults + "]}");
  };
  const auto rings = [](const Cluster& cluster) {
    return sim::plan_collective(CollectiveKind::all_gather, base::Bytes(S), devices(16), cluster, {.algorithm = Algorithm::ring}).rings;
  };
  CHECK(rings(c("")) == 8);
  CHECK(rings(c("{node: 1, nic: nic3}")) == 7);
}

TEST_CASE("on any network a wider link never makes a collective slower, and a fault never quicker") {
  CHECK(rc::check([] {
    const int nodes = 2 * *rc::gen::inRange(2, 7);
    const std::string networks[] = {
        "{type: fat-tree, link: ib, nodes_per_leaf: 2, leaves_per_pod: 2, pod_oversubscription: 3}",
        fmt::format("{{type: dragonfly, link: ib, nodes_per_router: 1, routers_per_group: {}, global_links: 2}}", nodes / 2),
        fmt::format("{{type: torus, link: ib, dimensions: [2, {}]}}", nodes / 2),
        fmt::format("{{type: custom, link: ib, switches: [a, b, s, t], attach: [{{nodes: 0-{}, to: a}}, {{nodes: {}-{}, to: b}}], links: "
                    "[{{between: [a, s]}}, {{between: [s, b]}}, {{between: [a, t]}}, {{between: [t, b]}}]}}",
                    nodes / 2 - 1, nodes / 2, nodes - 1),
    };
    const std::string faults[] = {"{between: [pod0, leaf0], left: 0.5}", "{between: [group0.router0, group0.router1]}",
                                  "{between: [place0.0, place0.1]}", "{between: [a, s]}"};
    const int kind = *rc::gen::inRange(0, 4);
    const auto collective = *rc::gen::element(CollectiveKind::all_gather, CollectiveKind::all_reduce, CollectiveKind::all_to_all);
    const auto time = [&](double gigabytes, const std::string& fault) {
      const Cluster c = nodes_on(nodes, networks[kind], gigabytes, fault);
      return test::run({sim::plan_collective(collective, base::Bytes(S), devices(nodes), c, {.algorithm = Algorithm::automatic})}, c);
    };
    RC_PRE(kind != 0 || nodes > 4);
    const double at_10 = time(10, "");
    RC_ASSERT(time(20, "") <= at_10 * (1 + 1e-9));
    RC_ASSERT(time(10, faults[kind]) >= at_10 * (1 - 1e-9));
  }));
}
