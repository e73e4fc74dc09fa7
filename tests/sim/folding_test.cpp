// Folded against unfolded: the same times and the same accounts, from fewer devices.
#include "sim/folding/folding.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "sim/folding/refinement.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"
#include "topology/load.hpp"

namespace {

topology::Cluster preset(const std::string& text) {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(text, "test"), "cluster"), "cluster");
}

void same(const pcg::Plan& plan, const topology::Cluster& cluster, int folded_devices) {
  REQUIRE(pcg::violations(plan).empty());
  const auto folded = sim::simulate_plan(plan, cluster, {.fold = true, .trace = false, .collectives = {}});
  const auto whole = sim::simulate_plan(plan, cluster, {.fold = false, .trace = false, .collectives = {}});
  CHECK(folded.iteration_time.value() == test::about(whole.iteration_time.value()));
  CHECK(folded.bytes.total.value() == test::about(whole.bytes.total.value()));
  for (const auto& [link, bytes] : whole.bytes.by_link) CHECK(folded.bytes.by_link.at(link).value() == test::about(bytes.value()));
  CHECK(folded.breakdown.compute.value() == test::about(whole.breakdown.compute.value()));
  CHECK(folded.memory.peak == whole.memory.peak);
  CHECK(whole.simulated_devices == plan.gpus);
  CHECK(folded.simulated_devices <= folded_devices);
  CHECK(folded.devices == plan.gpus);
}

test::Cuts data(int n) { return {{"*", {{"b", n}}}}; }

}  // namespace

TEST_CASE("data parallelism on Summit folds to the six places in a node") {
  same(test::plan_of(test::mlp(4, 256, 48), data(24), 24), preset("{preset: summit, nodes: 4}"), 6);
}

TEST_CASE("data parallelism on a switch folds to one device") {
  same(test::plan_of(test::mlp(4, 256, 32), data(32), 32), preset("{preset: dgx-a100-80gb, nodes: 4}"), 8);
}

TEST_CASE("a hybrid cube mesh folds exactly") {
  same(test::plan_of(test::mlp(4, 256, 32), data(16), 16), preset("{preset: dgx-1v, nodes: 2}"), 16);
}

TEST_CASE("tensor and data parallelism fold to the ranks of one replica at most") {
  // layers cut in turn on n and on k by 4, batch cut by 4 more: point = (b, k or n)
  test::Cuts cuts{{"*", {{"b", 4}}}, {"x", {{"copies", 4}}}, {"target", {{"copies", 4}}}, {"loss", {{"copies", 4}}}};
  cuts["layer0"] = {{"b", 4}, {"n", 4}};
  cuts["layer1"] = {{"b", 4}, {"k", 4}};
  auto plan = test::plan_of(test::mlp(2, 256, 32), cuts, 16);
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {  // copies come first in the task space: place them innermost too
    if (plan.pcg.nodes()[n].computes() && plan.pcg.nodes()[n].sharding.copies > 1) plan.mapping[n].strides = {1, 4};
  }
  same(plan, preset("{preset: dgx-a100-80gb, nodes: 2}"), 4);
}

TEST_CASE("pipelines keep one device per stage") {
  auto plan = test::pipeline_of(test::mlp(8, 256, 8), 4, 1, 6, pcg::ScheduleKind::one_f_one_b);
  same(plan, preset("{preset: dgx-a100-80gb, nodes: 1}"), 4);
}

TEST_CASE("two data-parallel pipelines share wires exactly as when simulated apart") {
  // Stage s on devices 6 s .. 6 s + 5 of two Summit nodes; messages of all six replicas meet on X-Bus and NICs.
  same(test::two_stages_of(test::mlp(4, 256, 48), 6, 3, 4), preset("{preset: summit, nodes: 2}"), 12);
}

TEST_CASE("flows over links that differ in latency alone are kept apart") {
  // Two near wires and two far ones, and a message over each at the same time. By place the GPUs are two pairs.
  const topology::Cluster cluster = preset(
      "{name: ring, nodes: 1, links: {near: {bandwidth: 10 GB/s, latency: 1 us}, far: {bandwidth: 10 GB/s, latency: 90 us}}, node: {gpus: "
      "{type: v100-sxm2-16gb, count: 4}, wires: [{between: [gpu0, gpu1], link: near}, {between: [gpu2, gpu3], link: near}, {between: "
      "[gpu0, "
      "gpu3], link: far}, {between: [gpu2, gpu1], link: far}]}}");
  const auto send = [](std::size_t from, std::size_t to) {
    return sim::Transfer{sim::CollectiveKind::send, base::Bytes(1e6), {base::DeviceId(from), base::DeviceId(to)}};
  };
  sim::Program program;
  program.movements = {sim::Movement{{{send(0, 1), send(2, 3), send(0, 3), send(2, 1)}}}};
  const sim::Traffic traffic = sim::traffic_of(program, cluster, {});
  const sim::Colours colours = sim::refine(program, traffic, cluster);
  CHECK(colours.device[0] == colours.device[2]);
  CHECK(colours.device[1] == colours.device[3]);
  REQUIRE(colours.strand.size() == 4);  // one of each message
  CHECK(colours.strand[0] == colours.strand[1]);
  CHECK(colours.strand[2] == colours.strand[3]);
  CHECK(colours.strand[0] != colours.strand[2]);
}

TEST_CASE("a ring does not spread what one of its members has of its own") {
  // Two stages of eight replicas, one node each; the gradients of a stage go round a ring. Where one GPU is slower, its replica differs
  // from the others in both stages, wherever these are in the ring: four kinds of devices.
  same(test::two_stages_of(test::mlp(4, 256, 64), 8, 3, 3),
       preset("{name: line, nodes: 16, links: {wire: {bandwidth: 20 GB/s, latency: 1 us}, net: {bandwidth: 2 GB/s, latency: 3 us}}, node: "
              "{gpus: {type: v100-sxm2-16gb, count: 1}, components: [nic0], wires: [{between: [gpu0, nic0], link: wire}]}, network: {type: "
              "switch, link: net}, faults: [{node: 5, gpu: gpu0, slowdown: 1.5}]}"),
       4);
}

TEST_CASE("nodes that differ in one thing are kept apart: hosts, clocks, wires; and leaves share what is above them") {
  // Four nodes of a GPU each on two leaves, the last two with these keys. Kernels are so short that hosts count.
  const auto cluster = [](const std::string& gpu, const std::string& faults, int oversubscription) {
    const auto nodes = [](const std::string& keys) {
      return "{count: 2, gpus: {type: v100-sxm2-16gb, count: 1" + keys +
             "}, components: [nic0], wires: [{between: [gpu0, nic0], link: wire}]}";
    };
    return preset(
        "{name: leaves, links: {wire: {bandwidth: 20 GB/s, latency: 1 us}, net: {bandwidth: 2 GB/s, latency: 3 us}}, node_types: [" +
        nodes("") + ", " + nodes(gpu) + "], network: {type: fat-tree, link: net, nodes_per_leaf: 2, oversubscription: " +
        std::to_string(oversubscription) + "}, faults: [" + faults + "]}");
  };
  const pcg::Plan plan = test::plan_of(test::mlp(4, 256, 64), data(4), 4);
  same(plan, cluster(", host_speed: 0.5", "", 1), 4);
  same(plan, cluster(", compute_speed: 0.5", "", 1), 4);
  same(plan, cluster("", "{node: 2, nic: nic0, left: 0.5}, {node: 3, nic: nic0, left: 0.5}", 1), 4);
  same(plan, cluster("", "", 8), 4);
}

TEST_CASE("a folded flow weighs on a link as many times as flows cross it") {
  // All-to-all of two nodes of two GPUs with a NIC each: three flows leave each GPU, and each NIC carries those of two GPUs to two others.
  const topology::Cluster cluster = test::star(2, 2);
  sim::Program program;
  program.movements = {sim::Movement{{{sim::Transfer{
      sim::CollectiveKind::all_to_all, base::Bytes(4e6), {base::DeviceId(0), base::DeviceId(1), base::DeviceId(2), base::DeviceId(3)}}}}}};
  const sim::Folded folded = sim::fold(program, sim::traffic_of(program, cluster, {}), cluster);
  REQUIRE(folded.routes.size() == 1);
  CHECK(std::ranges::max(folded.routes[0], {}, &sim::WeightedLink::weight).weight == 4);
}

TEST_CASE("folded flows keep their links busy for as long as the library does") {
  const topology::Cluster cluster = preset("{preset: dgx-a100-80gb, node.gpus.count: 2}");
  sim::Program program;
  program.movements = {
      sim::Movement{{{sim::Transfer{sim::CollectiveKind::all_reduce, base::Bytes(1e9), {base::DeviceId(0), base::DeviceId(1)}}}}}};
  const sim::Traffic traffic = sim::traffic_of(program, cluster, {});
  REQUIRE(traffic.strands.size() == 1);
  REQUIRE(traffic.strands[0].wire_factor > 1.01);
  const sim::Folded folded = sim::fold(program, traffic, cluster);
  REQUIRE(folded.transfers.at(0).phases.at(0).flows.size() == 1);
  CHECK(folded.transfers[0].phases[0].flows[0].bytes.value() ==
        test::about(traffic.strands[0].bytes.value() * traffic.strands[0].wire_factor));
}

TEST_CASE("a device in two collectives of a round runs one before the other, so that its neighbours differ") {
  const topology::Cluster cluster = test::star(1, 3);
  const auto sum = [](std::size_t a, std::size_t b) {
    return sim::Transfer{sim::CollectiveKind::all_reduce, base::Bytes(1e6), {base::DeviceId(a), base::DeviceId(b)}};
  };
  const auto kinds = [&](const sim::Round& first, const sim::Round& second) {
    sim::Program program;
    program.movements = {sim::Movement{{first}}, sim::Movement{{second}}};
    return sim::fold(program, sim::traffic_of(program, cluster, {}), cluster).sizes.size();
  };
  // The two ends are alike but for the order of the sums in the middle.
  CHECK(kinds({sum(0, 1), sum(1, 2)}, {sum(0, 1), sum(1, 2)}) == 3);
  CHECK(kinds({sum(0, 1)}, {sum(1, 2)}) == 3);  // of different rounds: at different times
  CHECK(kinds({sum(0, 1)}, {sum(0, 1)}) == 1);
}

TEST_CASE("a link between switches never fills where less can come over it than it carries") {
  // Two NICs send over the uplink of their leaf, which carries both, or two thirds of them.
  for (const auto& [oversubscription, is_slack] : {std::pair("1", true), std::pair("1.5", false)}) {
    const topology::Cluster cluster = preset(
        std::string("{name: leaves, nodes: 4, links: {net: {bandwidth: 2 GB/s, latency: 3 us}}, node: {gpus: {type: v100-sxm2-16gb, count: "
                    "1}, components: [nic0], wires: [{between: [gpu0, nic0], link: net}]}, network: {type: fat-tree, link: net, "
                    "nodes_per_leaf: 2, oversubscription: ") +
        oversubscription + "}}");
    const auto send = [](std::size_t from, std::size_t to) {
      return sim::Transfer{sim::CollectiveKind::send, base::Bytes(1e6), {base::DeviceId(from), base::DeviceId(to)}};
    };
    sim::Program program;
    program.movements = {sim::Movement{{{send(0, 2), send(1, 3)}}}};
    const sim::Traffic traffic = sim::traffic_of(program, cluster, {});
    int uplinks = 0;
    for (std::size_t l = 0; l < traffic.links.size(); ++l) {
      if (cluster.link(traffic.links[l]).name != "leaf0->core") continue;
      ++uplinks;
      CHECK(traffic.slack[l] == is_slack);
    }
    CHECK(uplinks == 1);
  }
}

TEST_CASE("folding is exact for any data-parallel plan") {
  CHECK(rc::check("folded equals unfolded", [] {
    const int nodes = *rc::gen::inRange(1, 4);
    const int gpus = *rc::gen::inRange(1, 7);
    const std::string bandwidth = std::to_string(*rc::gen::inRange(1, 50)) + " GB/s";
    const auto cluster = test::star(nodes, gpus, bandwidth, "3 us");
    const int n = nodes * gpus;
    auto plan = test::plan_of(test::mlp(3, 64, 2 * n), data(n), n);
    plan.zero = *rc::gen::inRange(0, 4);
    if (plan.zero > 0 && *rc::gen::arbitrary<bool>()) plan.memory.zero.blocks = {2};  // one of the layers
    const auto folded = sim::simulate_plan(plan, cluster, {.fold = true, .trace = false, .collectives = {}});
    const auto whole = sim::simulate_plan(plan, cluster, {.fold = false, .trace = false, .collectives = {}});
    RC_ASSERT(std::abs(folded.iteration_time / whole.iteration_time - 1) < 1e-9);
    RC_ASSERT(std::abs(folded.bytes.total.value() - whole.bytes.total.value()) <= 1e-9 * whole.bytes.total.value());
  }));
}
