// On random nodes: routes join their ends, and nothing wider was missed.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "clusters.hpp"

using namespace topology_test;

namespace {

struct RandomWire {
  int a, b, link;
};

// A node of GPUs in a chain of PCIe links over CPUs (so that all are joined), with random wires of three kinds added.
std::string random_node(int gpus, const std::vector<RandomWire>& extra) {
  const auto name = [gpus](int v) { return v < gpus ? fmt::format("gpu{}", v) : fmt::format("cpu{}", v - gpus); };
  std::vector<std::string> wires;
  std::vector<std::string> cpus;
  for (int i = 0; i < gpus; ++i) {
    cpus.push_back(fmt::format("cpu{}", i));
    wires.push_back(fmt::format("{{between: [gpu{}, cpu{}], link: l0}}", i, i));
    if (i > 0) wires.push_back(fmt::format("{{between: [cpu{}, cpu{}], link: l0}}", i - 1, i));
  }
  for (const auto& w : extra) wires.push_back(fmt::format("{{between: [{}, {}], link: l{}}}", name(w.a), name(w.b), w.link));
  return fmt::format(
      "{{nodes: 1, links: {{l0: {{bandwidth: 1 GB/s, latency: 1 us}}, l1: {{bandwidth: 2 GB/s, latency: 2 us}}, l2: {{bandwidth: 4 GB/s, "
      "latency: 1 us}}}}, "
      "node: {{gpus: {{type: t, count: {}}}, components: [{}], wires: [{}]}}}}",
      gpus, fmt::join(cpus, ", "), fmt::join(wires, ", "));
}

// By raising the bar: is there a way over links at least this wide, of a kind or a nearer one, that no GPU between the ends forwards?
// All switching is by CPUs here.
bool reachable(const topology::Cluster& c, const std::string& from, const std::string& to, double width, topology::RouteKind kind) {
  std::vector<std::string> open{from};
  std::vector<std::string> seen{from};
  while (!open.empty()) {
    const auto here = open.back();
    open.pop_back();
    if (here == to) return true;
    if (here != from && (here.starts_with("gpu") || kind < topology::RouteKind::one_socket)) continue;
    for (const auto& l : c.links()) {
      const auto colon = l.name.find(':') + 1;
      const auto arrow = l.name.find("->");
      const auto end = std::min(l.name.find('#'), l.name.size());
      if (l.bandwidth.value() < width || l.name.substr(colon, arrow - colon) != here) continue;
      const auto next = l.name.substr(arrow + 2, end - arrow - 2);
      if (here.starts_with("cpu") && next.starts_with("cpu") && kind < topology::RouteKind::sockets) continue;
      if (std::find(seen.begin(), seen.end(), next) == seen.end()) {
        seen.push_back(next);
        open.push_back(next);
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("routes join their ends link by link, and no nearer one exists and no wider one of the kind") {
  CHECK(rc::check([] {
    const int gpus = *rc::gen::inRange(2, 6);
    const auto extra = *rc::gen::container<std::vector<RandomWire>>(rc::gen::apply(
        [gpus](int a, int b, int link) {
          return RandomWire{a % (2 * gpus), a % (2 * gpus) == b % (2 * gpus) ? (b + 1) % (2 * gpus) : b % (2 * gpus), link};
        },
        rc::gen::inRange(0, 100), rc::gen::inRange(0, 100), rc::gen::inRange(0, 3)));
    const auto c = cluster_of(random_node(gpus, extra));
    for (int a = 0; a < gpus; ++a) {
      for (int b = 0; b < gpus; ++b) {
        if (a == b) continue;
        const auto r = c.route(gpu(a), gpu(b));
        std::string at = fmt::format("gpu{}", a);
        double width = 1e30;
        double latency = 0;
        for (const auto l : r.links) {
          const auto& name = c.link(l).name;
          const auto arrow = name.find("->");
          RC_ASSERT(name.substr(6, arrow - 6) == at);
          at = name.substr(arrow + 2, std::min(name.find('#'), name.size()) - arrow - 2);
          width = std::min(width, c.link(l).bandwidth.value());
          latency += c.link(l).latency.value();
        }
        RC_ASSERT(at == fmt::format("gpu{}", b));
        RC_ASSERT(r.bandwidth.value() == width);
        RC_ASSERT(std::abs(r.latency.value() - latency) < 1e-12);
        RC_ASSERT(reachable(c, fmt::format("gpu{}", a), at, width, r.kind));
        RC_ASSERT(!reachable(c, fmt::format("gpu{}", a), at, width * 1.5, r.kind));
        using topology::RouteKind;
        if (r.kind == RouteKind::sockets) RC_ASSERT(!reachable(c, fmt::format("gpu{}", a), at, 0, RouteKind::one_socket));
        if (r.kind == RouteKind::one_socket) RC_ASSERT(!reachable(c, fmt::format("gpu{}", a), at, 0, RouteKind::fabric));
      }
    }
  }));
}
