// Networks of three tiers, dragonflies, tori and custom ones: who is joined, by what, and which way a message takes.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "clusters.hpp"
#include "tests/about.hpp"

using namespace topology_test;

namespace {

// Nodes of one GPU with so many NICs of 10 GB/s and 2 us beside it; the wire to them is wide and takes no time.
std::string nodes_of(int nodes, const std::string& network, int nics = 1) {
  std::string names, wires;
  for (int n = 0; n < nics; ++n) {
    names += fmt::format("{}nic{}", n > 0 ? ", " : "", n);
    wires += fmt::format("{}{{between: [gpu0, nic{}], link: wire}}", n > 0 ? ", " : "", n);
  }
  return fmt::format(
      "{{nodes: {}, links: {{wire: {{bandwidth: 1 TB/s, latency: 0 s}}, ib: {{bandwidth: 10 GB/s, latency: 2 us}}, slow: {{bandwidth: 1 "
      "GB/s, latency: 9 us}}}}, node: {{gpus: {{type: t, count: 1}}, components: [{}], wires: [{}]}}, network: {}}}",
      nodes, names, wires, network);
}

// Of a route between GPUs, what it crosses in the network.
std::string way(const topology::Cluster& c, int from, int to) {
  const topology::Route r = c.route(gpu(from), gpu(to));
  std::vector<std::string> names;
  for (std::size_t i = 2; i + 2 < r.links.size(); ++i) names.push_back(c.link(r.links[i]).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

double latency_us(const topology::Cluster& c, int from, int to) { return c.route(gpu(from), gpu(to)).latency.value() * 1e6; }

double width_of(const topology::Cluster& c, const std::string& name) {
  for (const auto& l : c.links())
    if (l.name == name) return l.bandwidth.value();
  return 0;
}

}  // namespace

TEST_CASE("three tiers: leaves of two nodes, pods of two leaves") {
  // Leaf up: 2 NICs x 10 / 2 = 10 GB/s. Pod up: 2 leaves x 10 / 4 = 5 GB/s. Latency: 2 us for the NIC's link and for each tier climbed.
  const auto c = cluster_of(
      nodes_of(8, "{type: fat-tree, link: ib, nodes_per_leaf: 2, oversubscription: 2, leaves_per_pod: 2, pod_oversubscription: 4}"));
  CHECK(way(c, 0, 1) == "");
  CHECK(way(c, 0, 2) == "leaf0->pod0, pod0->leaf1");
  CHECK(way(c, 1, 7) == "leaf0->pod0, pod0->core, core->pod1, pod1->leaf3");
  CHECK(latency_us(c, 0, 1) == test::about(2));
  CHECK(latency_us(c, 0, 2) == test::about(4));
  CHECK(latency_us(c, 1, 7) == test::about(6));
  CHECK(width_of(c, "leaf0->pod0") == test::about(10e9));
  CHECK(width_of(c, "pod1->core") == test::about(5e9));
  CHECK(width_of(c, "core->pod1") == test::about(5e9));
  // One pod has no core above it.
  CHECK(width_of(cluster_of(nodes_of(4, "{type: fat-tree, link: ib, nodes_per_leaf: 2, leaves_per_pod: 2}")), "pod0->core") == 0);
}

TEST_CASE("dragonfly: at most a local, a global and a local link") {
  // One node per router, two routers per group, three groups, two links between groups. A group deals its links to the next group, then to
  // the one after it, out to its routers: group 0's links to group 1 go from routers 0 and 1, those to group 2 from routers 0 and 1.
  const auto c =
      cluster_of(nodes_of(6, "{type: dragonfly, link: ib, nodes_per_router: 1, routers_per_group: 2, local_links: 3, global_links: 2}"));
  CHECK(way(c, 0, 1) == "group0.router0->group0.router1");
  // 0 + 2 is even: link number 0 of the two, from router 0 of group 0 to router 0 of group 1 (the second group after group 1 is group 0).
  CHECK(way(c, 0, 2) == "group0.router0->group1.router0");
  // 0 + 3 is odd: link number 1, between the routers 1.
  CHECK(way(c, 0, 3) == "group0.router0->group0.router1, group0.router1->group1.router1");
  CHECK(way(c, 1, 2) == "group0.router1->group1.router1, group1.router1->group1.router0");
  CHECK(latency_us(c, 0, 3) == test::about(2 + 2 * 2));  // the NIC's link and two more
  CHECK(width_of(c, "group2.router1->group2.router0") == test::about(30e9));
  CHECK(width_of(c, "group2.router0->group0.router0") == test::about(10e9));
  // Links: 6 x 2 wires; 6 NICs up and down; 3 groups x 2 ordered pairs of routers; 6 ordered pairs of groups x 2.
  CHECK(c.links().size() == 12 + 12 + 6 + 12);
}

TEST_CASE("dragonfly with NICs spread: two NICs of a node hang on two routers") {
  const auto c = cluster_of(nodes_of(4, "{type: dragonfly, link: ib, nodes_per_router: 2, routers_per_group: 2, spread_nics: true}", 2));
  CHECK(width_of(c, "node0:nic0->group0.router0") == test::about(10e9));
  CHECK(width_of(c, "node1:nic1->group0.router1") == test::about(10e9));
  CHECK(width_of(c, "node2:nic0->group1.router0") == test::about(10e9));
}

TEST_CASE("torus: dimension by dimension, the shorter way round") {
  const auto c = cluster_of(nodes_of(12, "{type: torus, link: ib, dimensions: [3, 4]}"));
  CHECK(way(c, 0, 1) == "place0.0->place0.1");
  CHECK(way(c, 0, 3) == "place0.0->place0.3");
  CHECK(way(c, 0, 2) == "place0.0->place0.1, place0.1->place0.2");  // as far either way: forwards
  CHECK(way(c, 0, 11) == "place0.0->place2.0, place2.0->place2.3");
  CHECK(latency_us(c, 0, 11) == test::about(2 + 2 * 2));
  CHECK(c.links().size() == 12 * 2 + 12 * 2 + 12 * 4);  // four links leave each place
  // Two places in a dimension are joined once, one place not at all; places may be left empty.
  CHECK(cluster_of(nodes_of(2, "{type: torus, link: ib, dimensions: [2, 1]}")).links().size() == 2 * 2 + 2 * 2 + 2);
  CHECK(way(cluster_of(nodes_of(3, "{type: torus, link: ib, dimensions: [5]}")), 0, 2) == "place0->place1, place1->place2");
}

TEST_CASE("custom: shortest ways, spread over equal ones by destination") {
  const std::string leaves =
      "{type: custom, link: ib, switches: [a, b, s, t], attach: [{nodes: 0-1, to: a}, {nodes: [2, 3], to: b}], "
      "links: [{between: [a, s]}, {between: [a, t], count: 2}, {between: [s, b]}, {between: [t, b], link: slow}]}";
  const auto c = cluster_of(nodes_of(4, leaves));
  CHECK(way(c, 0, 1) == "");
  // Node 2 + NIC 0: the first of the two ways; node 3: the second.
  CHECK(way(c, 0, 2) == "a->s, s->b");
  CHECK(way(c, 0, 3) == "a->t, t->b");
  CHECK(way(c, 2, 0) == "b->s, s->a");
  CHECK(width_of(c, "a->t") == test::about(20e9));
  CHECK(c.route(gpu(0), gpu(3)).bandwidth.value() == test::about(1e9));
  CHECK(latency_us(c, 0, 3) == test::about(2 + 2 + 9));  // each link its own
}

TEST_CASE("custom: cables count both ways, and a choice is not the choice before it once more") {
  // From a to b either over s or over t, and from there on either over u or over v: nodes 0 to 3 have one way each, in the order of two
  // binary digits, the first choice the lowest.
  const auto c = cluster_of(
      nodes_of(5,
               "{type: custom, link: ib, switches: [a, s, t, m, u, v, b], attach: [{nodes: 4, to: a}, {nodes: 0-3, to: b}], "
               "links: [{between: [a, s], count: 3}, {between: [a, t]}, {between: [s, m]}, {between: [t, m]}, {between: [m, u]}, "
               "{between: [m, v]}, {between: [u, b]}, {between: [v, b]}]}"));
  CHECK(way(c, 4, 0) == "a->s, s->m, m->u, u->b");
  CHECK(way(c, 4, 1) == "a->t, t->m, m->u, u->b");
  CHECK(way(c, 4, 2) == "a->s, s->m, m->v, v->b");
  CHECK(way(c, 4, 3) == "a->t, t->m, m->v, v->b");
  CHECK(width_of(c, "a->s") == 30e9);
  CHECK(width_of(c, "s->a") == 30e9);
}

TEST_CASE("custom: what cannot be is refused") {
  const auto with = [](const std::string& rest) {
    return errors_of(nodes_of(2, "{type: custom, link: ib, switches: [a, b], " + rest + "}"));
  };
  CHECK(with("attach: [{nodes: 0, to: a}, {nodes: 1, to: b}]").find("no way leads from a to b") != std::string::npos);
  CHECK(with("attach: [{nodes: 0, to: a}]").find("nic0 of node 1 hangs on no switch") != std::string::npos);
  CHECK(with("attach: [{nodes: 0-1, to: a}, {nodes: 1, to: b}]").find("nic0 of node 1 hangs on two switches") != std::string::npos);
  CHECK(with("attach: [{nodes: 0-2, to: a}]").find("\"0-2\" names no nodes of this cluster") != std::string::npos);
  CHECK(with("attach: [{nodes: 0-1, to: c}]").find("no switch is called \"c\"") != std::string::npos);
  CHECK(with("attach: [{nodes: 0-1, nic: nic7, to: a}]").find("node 0 has no NIC \"nic7\"") != std::string::npos);
  CHECK(with("attach: [{nodes: 0-1, to: a}], links: [{between: [a, a]}]").find("a link joins two switches") != std::string::npos);
}

TEST_CASE("what a type of network has not is refused, with its place") {
  CHECK(
      errors_of("nodes: 1\nlinks: {w: {bandwidth: 1 GB/s, latency: 1 us}}\nnode: {gpus: {type: t, count: 1}}\nnetwork: {type: rail, link: "
                "w, nodes_per_leaf: 4}\n") ==
      "c.yaml:4:48: cluster.network.nodes_per_leaf: a network of type rail has no nodes_per_leaf\n"
      "    4 | network: {type: rail, link: w, nodes_per_leaf: 4}\n"
      "      |                                                ^~~ nodes_per_leaf is of type fat-tree\n");
  CHECK(errors_of(nodes_of(6, "{type: torus, link: ib, dimensions: [2, 2]}")).find("4 places for 6 nodes") != std::string::npos);
  CHECK(errors_of(nodes_of(6, "{type: dragonfly, link: ib}")).find("missing key \"nodes_per_router\"") != std::string::npos);
  CHECK(errors_of(nodes_of(6, "{type: fat-tree, link: ib, pod_oversubscription: 2}")).find("a tree of two tiers has no pods") !=
        std::string::npos);
}

TEST_CASE("another type beside a preset leaves the preset's own keys behind") {
  // Summit has nodes_per_leaf, Frontier's dragonfly five keys of its own.
  CHECK(way(cluster_of("{preset: summit, nodes: 8, network.type: torus, network.dimensions: [8]}"), 0, 6).find("place0->place1") !=
        std::string::npos);
  CHECK(cluster_of("{preset: mi250x-frontier, nodes: 8, network: {type: rail}}").nodes() == 8);
  CHECK(errors_of("{preset: mi250x-frontier, nodes: 8, network: {type: rail, global_links: 3}}").find("has no global_links") !=
        std::string::npos);
}

TEST_CASE("on every network each pair of nodes is joined by a chain of links, there and back equally long") {
  CHECK(rc::check([] {
    const int nodes = *rc::gen::inRange(2, 25);
    const std::string networks[] = {
        "{type: fat-tree, link: ib, nodes_per_leaf: 2, leaves_per_pod: 3, pod_oversubscription: 2}",
        fmt::format("{{type: dragonfly, link: ib, nodes_per_router: {}, routers_per_group: {}, global_links: {}, spread_nics: {}}}",
                    *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4), *rc::gen::element("true", "false")),
        fmt::format("{{type: torus, link: ib, dimensions: [{}, {}]}}", *rc::gen::inRange(1, 6), nodes),
    };
    const auto c = cluster_of(nodes_of(nodes, networks[*rc::gen::inRange(0, 3)], 2));
    const int a = *rc::gen::inRange(0, nodes), b = (a + *rc::gen::inRange(1, nodes)) % nodes;
    const auto ends = [&](topology::LinkId l) {
      const std::string& name = c.link(l).name;
      const auto arrow = name.find("->");
      return std::pair(name.substr(0, arrow), name.substr(arrow + 2, name.find('#') - arrow - 2));
    };
    const topology::Route there = c.route(gpu(a), gpu(b)), back = c.route(gpu(b), gpu(a));
    RC_ASSERT(there.links.size() == back.links.size());
    for (std::size_t i = 2; i + 1 < there.links.size() - 1; ++i) RC_ASSERT(ends(there.links[i - 1]).second == ends(there.links[i]).first);
    std::map<topology::LinkId, int> crossed;
    for (const auto l : there.links) RC_ASSERT(++crossed[l] == 1);
  }));
}
