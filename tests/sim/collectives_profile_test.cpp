// Collectives with a network profile: closed forms with its numbers, and what must hold whatever they are.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>

#include "sim/oracle.hpp"
#include "tests/about.hpp"
#include "tests/sim/collective_run.hpp"
#include "tests/sim/plan_builder.hpp"
#include "tests/sim/test_clusters.hpp"

namespace {

using base::Bytes;
using base::Seconds;
using profiles::NetworkProfile;
using profiles::Protocol;
using sim::Algorithm;
using sim::Collective;
using sim::CollectiveConfig;
using sim::CollectiveKind;
using sim::plan_collective;
using test::about, test::devices, test::S, test::run, test::kBetweenBandwidth, test::kBetweenLatency, test::kInsideBandwidth,
    test::kInsideLatency, test::plain_cluster;
using topology::Cluster;
using topology::DeviceId;

// Of plain_cluster's links. Rings: 3 us a hop and half of the wire with LL, 10 us and 0.8 with Simple; the network 5 us and 20 us, 0.25 and
// 0.9.
NetworkProfile library() {
  NetworkProfile p;
  p.name = "test";
  p.links["wire"][Algorithm::ring] = {{Protocol::ll, {Seconds(3e-6), 0.5}}, {Protocol::simple, {Seconds(10e-6), 0.8}}};
  p.links["ethernet"][Algorithm::ring] = {{Protocol::ll, {Seconds(5e-6), 0.25}}, {Protocol::simple, {Seconds(20e-6), 0.9}}};
  p.links["wire"][Algorithm::pairwise] = p.links["ethernet"][Algorithm::pairwise] = {{Protocol::simple, {Seconds(4e-6), 0.6}}};
  p.calls[CollectiveKind::all_reduce] = {{{Protocol::ll, Seconds(7e-6)}, {Protocol::simple, Seconds(11e-6)}}, 0.4};
  p.calls[CollectiveKind::all_to_all] = {{{Protocol::simple, Seconds(9e-6)}}, 0.3};
  return p;
}

Collective plan(CollectiveKind kind, double bytes, std::span<const DeviceId> group, const Cluster& cluster, const NetworkProfile& profile,
                std::optional<Protocol> protocol = std::nullopt) {
  CollectiveConfig config;
  config.network = &profile;
  config.protocol = protocol;
  return plan_collective(kind, Bytes(bytes), group, cluster, config);
}

double payload(const Collective& c) {
  double sum = 0;
  for (const sim::CollectivePhase& p : c.phases)
    for (const sim::CollectiveFlow& f : p.flows) sum += f.bytes.value();
  return sum;
}

}  // namespace

TEST_CASE("a ring inside a node: base + steps (wires + hop) + (1 + local / steps) x bytes / (bandwidth x efficiency)") {
  const NetworkProfile profile = library();
  for (const int n : {2, 4, 8}) {
    const Cluster cluster = plain_cluster(1, n);
    const double steps = 2 * (n - 1), sent = 2.0 * (n - 1) / n * S;
    const Collective c = plan(CollectiveKind::all_reduce, S, devices(n), cluster, profile);
    CHECK(c.protocol == Protocol::simple);
    CHECK(c.basis == profiles::Basis::fitted);
    CHECK(c.estimate.value() == about(11e-6 + steps * (kInsideLatency + 10e-6) + (1 + 0.4 / steps) * sent / (0.8 * kInsideBandwidth)));
    CHECK(run({c}, cluster) == about(c.estimate.value()));
    CHECK(payload(c) == about(n * sent));  // what is wanted, not what keeps the wires busy
    const Collective ll = plan(CollectiveKind::all_reduce, S, devices(n), cluster, profile, Protocol::ll);
    CHECK(ll.estimate.value() == about(7e-6 + steps * (kInsideLatency + 3e-6) + (1 + 0.4 / steps) * sent / (0.5 * kInsideBandwidth)));
  }
  // All-to-all: 9 us + 2 us + 4 us, 3/4 S, and a rank's own quarter takes 0.3 sends' time beside three.
  const Cluster cluster = plain_cluster(1, 4);
  CHECK(plan(CollectiveKind::all_to_all, S, devices(4), cluster, profile).estimate.value() ==
        about(15e-6 + 1.1 * 0.75 * S / (0.6 * kInsideBandwidth)));
}

TEST_CASE("over several types of links a hop costs as the slowest of them, and the ring's hops count each") {
  // Two nodes of two GPUs: of four hops two go between nodes, over wire (10 us) and network (20 us). 6 steps, half of them each. One NIC a
  // node: the narrowest, 10 GB/s x 0.9; the wire would give 80 GB/s.
  const NetworkProfile profile = library();
  const Cluster cluster = plain_cluster(2, 2);
  const Collective c = plan(CollectiveKind::all_reduce, S, devices(4), cluster, profile);
  const double latency = 11e-6 + 3 * (kInsideLatency + 10e-6) + 3 * (kBetweenLatency + 20e-6);
  CHECK(c.estimate.value() == about(latency + (1 + 0.4 / 6) * 1.5 * S / (0.9 * kBetweenBandwidth)));
  CHECK(run({c}, cluster) == about(c.estimate.value()));
}

TEST_CASE("the quickest protocol at each size: LL for short messages, Simple for long ones") {
  const NetworkProfile profile = library();
  const Cluster cluster = plain_cluster(1, 4);
  CHECK(plan(CollectiveKind::all_reduce, 1e3, devices(4), cluster, profile).protocol == Protocol::ll);
  CHECK(plan(CollectiveKind::all_reduce, 1e9, devices(4), cluster, profile).protocol == Protocol::simple);
  for (const double bytes : {0.0, 1e3, 1e5, 3e6, 1e9})
    for (const Protocol p : {Protocol::ll, Protocol::simple})
      CHECK(plan(CollectiveKind::all_reduce, bytes, devices(4), cluster, profile).estimate <=
            plan(CollectiveKind::all_reduce, bytes, devices(4), cluster, profile, p).estimate);
}

TEST_CASE("links that a profile does not know cost their wires, and so does what the library lacks everywhere") {
  NetworkProfile other = library();
  other.links.clear();
  other.links["nvlink"][Algorithm::ring] = {{Protocol::simple, {Seconds(1e-6), 0.5}}};
  const Cluster cluster = plain_cluster(2, 4);
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const Collective with = plan(kind, S, devices(8), cluster, other), without = plan_collective(kind, Bytes(S), devices(8), cluster);
    CHECK(with.estimate.value() == about(without.estimate.value()));
    CHECK(with.basis == profiles::Basis::defaults);
  }
  NetworkProfile rings = library();
  for (auto& [type, algorithms] : rings.links) algorithms.erase(Algorithm::pairwise);
  CHECK(plan(CollectiveKind::all_to_all, S, devices(8), cluster, rings).estimate.value() ==
        about(plan_collective(CollectiveKind::all_to_all, Bytes(S), devices(8), cluster).estimate.value()));
}

TEST_CASE("two that share a NIC take twice the bytes' time, not twice the latency") {
  const NetworkProfile profile = library();
  const Cluster cluster = plain_cluster(2, 2);
  const std::array a = {DeviceId(0), DeviceId(2)}, b = {DeviceId(1), DeviceId(3)};
  const Collective first = plan(CollectiveKind::all_reduce, S, a, cluster, profile),
                   second = plan(CollectiveKind::all_reduce, S, b, cluster, profile);
  const double latency = 11e-6 + 2 * (kBetweenLatency + 20e-6), bytes = (1 + 0.4 / 2) * S / (0.9 * kBetweenBandwidth);
  CHECK(run({first}, cluster) == about(latency + bytes));
  CHECK(run({first, second}, cluster) == about(latency + 2 * bytes));
}

TEST_CASE("presets with their profiles: more bytes are never quicker, more bandwidth is never slower") {
  CHECK(rc::check("monotone", [] {
    const char* const name = *rc::gen::element("dgx-1v", "dgx-a100-80gb", "dgx-h100", "summit", "aws-p5.48xlarge", "dgx-b200");
    const Cluster cluster = test::profiled(name, 2);
    const int n = *rc::gen::inRange(2, cluster.device_count() + 1), first = *rc::gen::inRange(0, cluster.device_count() - n + 1);
    const double bytes = std::exp2(*rc::gen::inRange(0, 340) / 10.0), more = bytes * std::exp2(*rc::gen::inRange(0, 40) / 10.0);
    const auto kind = *rc::gen::element(CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                        CollectiveKind::all_to_all, CollectiveKind::broadcast);
    const auto seconds = [&](double size, const Cluster& on) { return plan_collective(kind, Bytes(size), devices(n, first), on).estimate; };
    RC_ASSERT(seconds(more, cluster) >= seconds(bytes, cluster));
    const char* const link = *rc::gen::element("nvlink", "infiniband");  // wider PCIe may become the way, with more latency
    if (std::string(name).starts_with("aws") && std::string(link) == "infiniband") return;
    const Cluster wider =
        test::cluster_of(fmt::format("{{preset: {}, nodes: 2, links.{}.bandwidth: {}x}}", name, link, *rc::gen::element(2, 4)));
    RC_ASSERT(seconds(bytes, wider).value() <= seconds(bytes, cluster).value() * (1 + 1e-9));
  }));
}

TEST_CASE("planning a group with several choices at once is planning it with each") {
  CHECK(rc::check("each choice", [] {
    const char* const name = *rc::gen::element("dgx-1v", "dgx-a100-80gb", "dgx-h100", "summit");
    const Cluster cluster = *rc::gen::arbitrary<bool>() ? test::profiled(name, 2) : test::preset(name, 2);
    const int n = *rc::gen::inRange(1, cluster.device_count() + 1);
    const auto kind = *rc::gen::element(CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all);
    std::vector<sim::CollectiveChoice> choices;
    for (const Algorithm a : profiles::kAlgorithms)
      for (const auto p : {std::optional<Protocol>(), std::optional(Protocol::ll), std::optional(Protocol::simple)})
        choices.push_back({a, p});
    const auto plans = sim::CollectivePlanner(cluster, {}).plan_each(kind, Bytes(1e6), devices(n), choices);
    for (std::size_t c = 0; c < choices.size(); ++c) {
      CollectiveConfig config;
      config.algorithm = choices[c].algorithm;
      config.protocol = choices[c].protocol;
      const Collective alone = plan_collective(kind, Bytes(1e6), devices(n), cluster, config);
      const bool applies =
          n == 1 || (alone.algorithm == choices[c].algorithm && (!choices[c].protocol || alone.protocol == choices[c].protocol));
      RC_ASSERT(plans[c].has_value() == applies);
      if (!applies) continue;
      RC_ASSERT(std::abs((plans[c]->estimate - alone.estimate).value()) <= 1e-12 * alone.estimate.value());
      RC_ASSERT(plans[c]->protocol == alone.protocol);
      RC_ASSERT(plans[c]->phases.size() == alone.phases.size());
      RC_ASSERT(payload(*plans[c]) == payload(alone));
    }
  }));
}

TEST_CASE("the oracle answers what a plan of that size takes, at sizes on both sides of every change of protocol") {
  const std::array clusters = {test::profiled("dgx-a100-80gb", 2), test::profiled("dgx-h100", 2), test::profiled("dgx-1v", 1)};
  for (const Cluster& cluster : clusters) {
    const sim::Oracle oracle(cluster);
    for (const int n : {2, 4, 8}) {
      const auto group = devices(n);
      for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all})
        for (const double bytes : {1e3, 1e5, 1e6, 1e7, 1e9})
          CHECK(oracle.collective(kind, Bytes(bytes), group).time.value() ==
                about(run({plan_collective(kind, Bytes(bytes), group, cluster)}, cluster)));
    }
  }
}

TEST_CASE("in a cube mesh GPUs relay: five GPUs of a DGX-1V keep off the host") {
  // GPU 4 has a wire to GPU 0 alone; through the host a ring would get 12 GB/s. Relayed by GPU 0 two rings share its two bricks: 50 GB/s.
  const Cluster dgx = test::profiled("dgx-1v", 1), wires = test::preset("dgx-1v", 1);
  const double with = plan_collective(CollectiveKind::all_reduce, Bytes(S), devices(5), dgx).estimate.value();
  CHECK(with < 2 * 0.8 * S / 30e9);
  CHECK(with > 2 * 0.8 * S / 50e9);
  CHECK(plan_collective(CollectiveKind::all_reduce, Bytes(S), devices(5), wires).estimate.value() > 2 * 0.8 * S / 15e9);
}

TEST_CASE("GPUs on PCIe reach what two L40S do, and a ring of four as much") {
  // aiconfigurator's table (NCCL 2.27): 128 MiB gathered by two L40S in 3.48 ms, summed up in 6.72.
  constexpr double kSize = 128 << 20;
  const Cluster l40s = test::profiled("pcie-l40s-4", 1);
  const auto seconds = [&](CollectiveKind kind, int ranks) {
    return plan_collective(kind, Bytes(kSize), devices(ranks), l40s).estimate.value();
  };
  CHECK(seconds(CollectiveKind::all_gather, 2) == test::about(3.48e-3, 0.05));
  CHECK(seconds(CollectiveKind::all_reduce, 2) == test::about(6.72e-3, 0.05));
  // Three quarters of it over each wire in place of a half.
  CHECK(seconds(CollectiveKind::all_gather, 4) == test::about(1.5 * seconds(CollectiveKind::all_gather, 2), 0.05));
}

TEST_CASE("whole plans: folded as unfolded, and the bytes that are counted are those without a profile") {
  const auto section = [](const char* profile) { return fmt::format("{{preset: dgx-a100-80gb, nodes: 2, network_profile: {}}}", profile); };
  const Cluster with = test::cluster_of(section("a100-nvswitch")), without = test::cluster_of(section("none"));
  const pcg::Plan plan = test::plan_of(test::mlp(2, 256, 64), {{"*", {{"b", 16}}}}, 16);
  sim::SimulationConfig config;
  const sim::SimulationResult folded = sim::simulate_plan(plan, with, config), wires = sim::simulate_plan(plan, without, config);
  config.fold = false;
  const sim::SimulationResult unfolded = sim::simulate_plan(plan, with, config);
  CHECK(folded.iteration_time.value() == about(unfolded.iteration_time.value()));
  CHECK(folded.simulated_devices < unfolded.simulated_devices);
  CHECK(folded.bytes.total.value() == about(wires.bytes.total.value()));
  CHECK(folded.iteration_time > wires.iteration_time);
}

TEST_CASE("bulk copies take what their rows take, or what the wires take if that is more") {
  // One host of 4 ranks: each sends copies x 3/4 S over its wire, at 0.8 of the bandwidth. A row of 1000 B takes 20 ns on the way out, and
  // 50 ns on the way back.
  const Cluster cluster = plain_cluster(1, 4);
  NetworkProfile p = library();
  p.links["wire"][Algorithm::forwarded] = {{Protocol::simple, {Seconds(2e-6), 0.4}}};
  p.links["wire"][Algorithm::bulk_forwarded] = {{Protocol::simple, {Seconds(2e-6), 0.8, "", Seconds(20e-9), Seconds(50e-9)}}};
  CollectiveConfig config;
  config.network = &p;
  sim::CollectivePlanner planner(cluster, config);
  const auto group = devices(4);
  const auto seconds = [&](const sim::Forwarding& forwarding, double bytes) {
    const Collective c = planner.plan(CollectiveKind::all_to_all, Bytes(bytes), group, forwarding);
    CHECK(c.algorithm == (forwarding.bulk ? Algorithm::bulk_forwarded : Algorithm::forwarded));
    CHECK(payload(c) == about(4 * forwarding.copies * 3 / 4 * bytes));
    CHECK(run({c}, cluster) == about(c.estimate.value()));
    return c.estimate.value();
  };
  const double fixed = 9e-6 + 2e-6 + kInsideLatency, wires = 2 * 3.0 / 4 / (0.8 * kInsideBandwidth);
  for (const double bytes : {1e6, 1e9}) {
    CHECK(seconds({.copies = 2}, bytes) == about(fixed + 2 * wires * bytes));
    CHECK(seconds({.copies = 2, .bulk = true}, bytes) == about(fixed + wires * bytes));
    for (const double row : {100.0, 1e3, 1e5}) {
      CHECK(seconds({.copies = 2, .bulk = true, .rows = 4 / row}, bytes) == about(fixed + std::max(wires, 4 / row * 20e-9) * bytes));
      CHECK(seconds({.copies = 2, .bulk = true, .rows = 2 / row, .sums = true}, bytes) ==
            about(fixed + std::max(wires, 2 / row * 50e-9) * bytes));
    }
  }
  // A library that has no entry of its own for bulk copies does as its others do.
  p.links["wire"].erase(Algorithm::bulk_forwarded);
  CHECK(seconds({.copies = 2, .bulk = true, .rows = 1}, 1e6) == about(fixed + 2 * wires * 1e6));
}
