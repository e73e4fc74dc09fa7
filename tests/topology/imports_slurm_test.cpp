// Slurm's topology.conf to a network and a number of nodes, and what is refused.
#include <doctest/doctest.h>

#include "imports_samples.hpp"

using namespace topology_test;

namespace {

// The network as it is in the file: type, nodes per leaf.
std::string network_of(const topology::ImportedTopology& t) {
  const auto at = t.yaml.find("  network:");
  return t.yaml.substr(at, t.yaml.find('\n', at) - at);
}

}  // namespace

TEST_CASE("a tree of two levels is a fat tree of its leaves") {
  const auto t = import(kSlurmTree);
  CHECK(t.format == "Slurm topology.conf");
  CHECK(t.nodes == 16);  // tux0-3, tux4-7, tux08-11, rack0n1, rack0n2, rack1n1, rack1n2
  CHECK(network_of(t) == "  network: {type: fat-tree, link: infiniband, oversubscription: 1, nodes_per_leaf: 4}");
  const auto c = load(t);
  CHECK(c.nodes() == 16);
  CHECK(c.route(gpu(0), gpu(3)).links.size() == 6);  // one leaf
  CHECK(c.route(gpu(0), gpu(4)).links.size() == 8);  // two leaves and the core
  CHECK(notes_have(t, "LinkSpeed (100) has no unit"));
  CHECK(notes_have(t, "CHOOSE a node"));
}

TEST_CASE("the node may be a preset's") {
  const auto t = import(kSlurmTree, {.preset = "dgx-h100"});
  const auto c = load(t);
  CHECK(c.device_count() == 128);
  CHECK(c.route(gpu(0), gpu(8)).bandwidth == base::BytesPerSecond(50e9));
  CHECK(t.yaml.find("choose") == std::string::npos);
  CHECK(import_errors(kSlurmTree, {.preset = "dgx-h1000"}).find("no preset is called \"dgx-h1000\"") != std::string::npos);
  CHECK(load(import("SwitchName=s Nodes=n[0-3]\n", {.preset = "summit"})).nodes() == 4);  // one leaf: a switch
}

TEST_CASE("the node, and the link of its network, may be another file's") {
  const auto node = import(kDgx1);
  const auto t = import(kSlurmTree, {.node = &node});
  CHECK(t.format == "nvidia-smi topo -m, Slurm topology.conf");
  CHECK(fmt::format("{} {}", t.nodes, t.gpus) == "16 8");
  CHECK(network_of(t) == "  network: {type: fat-tree, link: infiniband, oversubscription: 1, nodes_per_leaf: 4}");
  CHECK(t.yaml.find("network_profile: v100-nvlink") != std::string::npos);
  CHECK(notes_have(t, "The matrix has no speeds"));
  CHECK(!notes_have(t, "CHOOSE a node"));
  CHECK(!notes_have(t, "How several such nodes are joined is not in the file"));
  CHECK(load(t).device_count() == 128);
  const auto alone = import("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n");
  CHECK(import_errors(kSlurmTree, {.node = &alone}).find("the node's file has no NIC") != std::string::npos);
}

TEST_CASE("what scontrol shows of a topology is read: levels, and nodes named again above their leaves") {
  const auto t = import(
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[4-7]\n"
      "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=s[0-1]\n");
  CHECK(t.nodes == 8);
  CHECK(network_of(t).find("nodes_per_leaf: 4") != std::string::npos);
}

TEST_CASE("one switch is a switch") {
  CHECK(network_of(import("SWITCHNAME=s NODES=a,b,c\n")) == "  network: {type: switch, link: infiniband}");
}

TEST_CASE("what the format cannot express is said") {
  const auto uneven =
      import("SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c Nodes=n[5-6]\nSwitchName=t Switches=a,b,c\n");
  CHECK(notes_have(uneven, "Leaves of several sizes (2 x 2, 1 x 3 nodes): nodes are filled into leaves of 2"));
  const auto deep = import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=m Switches=a\nSwitchName=t Switches=m,b\n");
  CHECK(notes_have(deep, "3 levels of switches: the 2 above the leaves are one core"));
  const auto apart = import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n");
  CHECK(notes_have(apart, "2 switches have nothing above them"));
  const auto twice = import("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=t Switches=a,b\nSwitchName=u Switches=a,b\n");
  CHECK(notes_have(twice, "Switches with several above them"));
}

TEST_CASE("blocks are leaves") {
  const auto t = import("BlockName=b1 Nodes=node[01-18]\nBlockName=b2 Nodes=node[19-36]\nBlockSizes=18,36\n");
  CHECK(t.nodes == 36);
  CHECK(network_of(t) == "  network: {type: fat-tree, link: infiniband, oversubscription: 1, nodes_per_leaf: 18}");
  CHECK(notes_have(t, "A block is a leaf here"));
  CHECK(notes_have(t, "BlockSizes (18, 36)"));
}

TEST_CASE("a tree that is broken is refused with the reason") {
  const auto refused = [](const std::string& text, const std::string& why) {
    CAPTURE(text);
    const auto errors = import_errors(text);
    CAPTURE(errors);
    CHECK(errors.find(why) != std::string::npos);
  };
  const std::string leaf = "SwitchName=a Nodes=n1\n";
  refused("SwitchName=s0 Nodes=tux[0-11\n", "\"tux[0-11\": \"[\" without \"]\"");
  refused("SwitchName=s0 Nodes=tux0-11]\n", "\"]\" without \"[\"");
  refused("SwitchName=s0 Nodes=tux[11-0]\n", "the range 11-0 runs backwards");
  refused("SwitchName=s0 Nodes=tux[0-x]\n", "\"0-x\" is no number or range");
  refused("SwitchName=s0 Nodes=tux[0-2,]\n", "\"\" is no number or range");
  refused("SwitchName=s0 Nodes=a,,b\n", "an empty name");
  refused("SwitchName=s0 Nodes=a[1[2]]\n", "\"[\" inside brackets");
  refused("SwitchName=s0 Nodes=n[0-2000000000]\n", "more than 100000 names");
  refused("SwitchName=s0 Nodes=n[0-999][0-999]\n", "more than 100000 names");
  refused("SwitchName=s0 Nodes=n[0-60000]\nSwitchName=s1 Nodes=m[0-60000]\n", "more than 100000 names in the file");
  refused("SwitchName=s0 Nodes=n[1-3],n2\n", "node \"n2\" is there twice");
  refused(leaf + "SwitchName=b Nodes=n1\n", "node \"n1\" is below \"a\" already");
  refused(leaf + leaf, "switch \"a\" is there twice, first in line 1");
  refused(leaf + "SwitchName=t Switches=a,zz\n", "switch \"zz\" below \"t\" is not in the file");
  refused(leaf + "SwitchName=t Switches=a,u\nSwitchName=u Switches=t\n", "is below itself");
  refused(leaf + "SwitchName=t Switches=t\n", "switch \"t\" is below itself");
  refused(leaf + "SwitchName=t\n", "needs either nodes or switches below it");
  refused(leaf + "SwitchName=t Nodes=n2 Switches=a\n", "needs either nodes or switches below it");
  refused("SwitchName=s0 Node=n1\n", "\"node\" is not known");
  refused("SwitchName=s0 Nodes\n", "expected KEY=VALUE");
  refused(leaf + "Include=other.conf\n", "\"include\" is not known");
  refused("BlockName=b Nodes=n1\n" + leaf, "switches and blocks in one file");
  refused("BlockName=b Nodes=n1\nBlockSizes=0\n", "are no numbers of nodes");
  refused("BlockSizes=4\n", "no line names a node");
  refused("SwitchName=s[0-1] Nodes=n1\n", "one switch per line");
}

TEST_CASE("a chain of thousands of switches is followed, not recursed into") {
  std::string text = "SwitchName=s0 Nodes=n0\n";
  for (int i = 1; i < 20000; ++i) text += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  CHECK(import(text).nodes == 1);
}

TEST_CASE("zeros at the front of numbers belong to the names") {
  const auto t = import("SwitchName=s08 Nodes=n[08-09]\nSwitchName=s09 Nodes=n[8-9]\nSwitchName=t Switches=s[08-09]\n");
  CHECK(t.nodes == 4);
  CHECK(network_of(t) == "  network: {type: fat-tree, link: infiniband, oversubscription: 1, nodes_per_leaf: 2}");
}
