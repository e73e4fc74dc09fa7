// What a wrong cluster section says, whole.
#include <doctest/doctest.h>

#include "clusters.hpp"
#include "topology/load.hpp"

using namespace topology_test;

TEST_CASE("an unknown preset") {
  CHECK(errors_of("{preset: sumit}") ==
        "c.yaml:1:10: cluster.preset: no preset is called \"sumit\"\n"
        "    1 | {preset: sumit}\n"
        "      |          ^~~ did you mean \"summit\"?\n");
}

TEST_CASE("an unknown key beside a preset") {
  CHECK(errors_of("{preset: summit, nodez: 1}") ==
        "c.yaml:1:18: cluster: unknown key \"nodez\"\n"
        "    1 | {preset: summit, nodez: 1}\n"
        "      |                  ^~~ did you mean \"nodes\"?\n");
}

TEST_CASE("a wrong value and a wrong path beside a preset, both at once") {
  CHECK(errors_of("preset: summit\nnodes: -1\nlinks.infinband.bandwidth: 3 GB/s\n") ==
        "c.yaml:2:8: cluster.nodes: nodes must be at least 1, found -1\n"
        "    2 | nodes: -1\n"
        "      |        ^\n"
        "c.yaml:3:28: cluster.links.infinband.bandwidth: unknown key \"links.infinband\"\n"
        "    3 | links.infinband.bandwidth: 3 GB/s\n"
        "      |                            ^~~ did you mean \"links.infiniband.bandwidth\"?\n");
}

TEST_CASE("a bandwidth without a unit") {
  CHECK(errors_of("{preset: summit, links.infiniband.bandwidth: 400}") ==
        "c.yaml:1:46: cluster.links.infiniband.bandwidth: \"400\" has no unit\n"
        "    1 | {preset: summit, links.infiniband.bandwidth: 400}\n"
        "      |                                              ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"\n");
}

TEST_CASE("more GPUs than a preset has wires for") {
  CHECK(errors_of("{preset: summit, node.gpus.count: 7}") ==
        "c.yaml:1:35: cluster.node: no wires lead from gpu0 to gpu6\n"
        "    1 | {preset: summit, node.gpus.count: 7}\n"
        "      |                                   ^~~ add a wire between them or to a component that both reach\n");
}

TEST_CASE("everything that is wrong with a cluster made by hand") {
  CHECK(errors_of("nodes: 2\n"
                  "links:\n"
                  "  w: {bandwidth: 400, latency: 1 us}\n"
                  "node:\n"
                  "  gpus: {type: t, count: 2}\n"
                  "  components: [nik0, cpu0, cpu0]\n"
                  "  wires:\n"
                  "    - {between: [gpu0, gpu7], link: w}\n"
                  "    - {between: [gpu0, cpu1], link: wire}\n"
                  "    - {link: w}\n"
                  "network: {type: torus, link: w}\n") ==
        "c.yaml:3:18: cluster.links.w.bandwidth: \"400\" has no unit\n"
        "    3 |   w: {bandwidth: 400, latency: 1 us}\n"
        "      |                  ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"\n"
        "c.yaml:6:16: cluster.node.components[0]: \"nik0\" is no component: names begin with cpu, switch or nic\n"
        "    6 |   components: [nik0, cpu0, cpu0]\n"
        "      |                ^\n"
        "c.yaml:6:28: cluster.node.components[2]: \"cpu0\" is there twice\n"
        "    6 |   components: [nik0, cpu0, cpu0]\n"
        "      |                            ^\n"
        "c.yaml:8:24: cluster.node.wires[0].between[1]: the node has no \"gpu7\"\n"
        "    8 |     - {between: [gpu0, gpu7], link: w}\n"
        "      |                        ^~~ its GPUs are gpu0 to gpu1\n"
        "c.yaml:9:24: cluster.node.wires[1].between[1]: the node has no \"cpu1\"\n"
        "    9 |     - {between: [gpu0, cpu1], link: wire}\n"
        "      |                        ^~~ did you mean \"gpu1\"?\n"
        "c.yaml:9:37: cluster.node.wires[1].link: no link is called \"wire\"\n"
        "    9 |     - {between: [gpu0, cpu1], link: wire}\n"
        "      |                                     ^~~ one of: w\n"
        "c.yaml:10:7: cluster.node.wires[2]: a wire needs either \"between\" or \"all_pairs\"\n"
        "   10 |     - {link: w}\n"
        "      |       ^\n"
        "c.yaml:11:10: cluster.network: missing key \"dimensions\"\n"
        "   11 | network: {type: torus, link: w}\n"
        "      |          ^\n");
}

TEST_CASE("several nodes without a NIC, or without a network") {
  const std::string node = "nodes: 2\nlinks: {w: {bandwidth: 1 GB/s, latency: 1 us}}\nnode: {gpus: {type: t, count: 1}}\n";
  CHECK(errors_of(node + "network: {type: switch, link: w}\n") ==
        "c.yaml:3:7: cluster.node: no NIC, so it cannot reach the other nodes\n"
        "    3 | node: {gpus: {type: t, count: 1}}\n"
        "      |       ^~~ add nic0 to components and a wire to it\n");
  CHECK(errors_of(node) ==
        "c.yaml:1:1: cluster: several nodes need a network\n"
        "    1 | nodes: 2\n"
        "      | ^~~ e.g. network: {type: switch, link: infiniband}\n");
}

TEST_CASE("a NIC that no wire reaches") {
  CHECK(errors_of("nodes: 2\nlinks: {w: {bandwidth: 1 GB/s, latency: 1 us}}\nnode: {gpus: {type: t, count: 1}, components: "
                  "[nic0]}\nnetwork: {type: switch, link: w}\n") ==
        "c.yaml:3:31: cluster.node: no wires lead from gpu0 to nic0\n"
        "    3 | node: {gpus: {type: t, count: 1}, components: [nic0]}\n"
        "      |                               ^~~ add a wire between them or to a component that both reach\n");
}

TEST_CASE("a switch is not oversubscribed") {
  CHECK(errors_of("{preset: titan-xp-4, nodes: 2, network.oversubscription: 2}") ==
        "c.yaml:1:58: cluster.network.oversubscription: a single switch is not oversubscribed\n"
        "    1 | {preset: titan-xp-4, nodes: 2, network.oversubscription: 2}\n"
        "      |                                                          ^~~ write type: fat-tree, with nodes_per_leaf\n");
}

TEST_CASE("more GPUs than a program can hold") {
  CHECK(errors_of("{preset: summit, nodes: 100000, node.gpus.count: 1000}") ==
        "c.yaml:1:25: cluster.nodes: 100000000 GPUs are too many\n"
        "    1 | {preset: summit, nodes: 100000, node.gpus.count: 1000}\n"
        "      |                         ^~~ at most 1000000\n");
}

TEST_CASE("a preset that is only named") {
  CHECK(errors_of("{name: dgx-h100, nodes: 2}") ==
        "c.yaml:1:8: cluster.name: is a preset's name, and nothing else describes the cluster\n"
        "    1 | {name: dgx-h100, nodes: 2}\n"
        "      |        ^~~ write preset: dgx-h100\n");
}

TEST_CASE("a section that is no map, and an empty one") {
  CHECK(errors_of("[1]") ==
        "c.yaml:1:1: cluster: expected a map, found a list\n"
        "    1 | [1]\n"
        "      | ^~~ write e.g. {preset: dgx-h100, nodes: 2}\n");
  CHECK(errors_of("{nodes: 1}") ==
        "c.yaml:1:1: cluster: missing key \"links\"\n"
        "    1 | {nodes: 1}\n"
        "      | ^\n"
        "c.yaml:1:1: cluster: missing key \"node\"\n"
        "    1 | {nodes: 1}\n"
        "      | ^\n");
}

TEST_CASE("a word that is neither a preset nor a file") {
  try {
    (void)topology::load_cluster_argument("dgx-a100-80g");
    FAIL("it loaded");
  } catch (const base::InputError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].message == "\"dgx-a100-80g\" is neither a preset nor a file");
    CHECK(e.diagnostics()[0].hint == "did you mean \"dgx-a100-80gb\"?");
  }
}
