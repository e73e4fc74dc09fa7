#pragma once
// Small clusters for tests, as YAML.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/yaml/parse.hpp"
#include "tests/about.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace test {

inline topology::Cluster cluster_of(const std::string& section) {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(section, "<test>"), "cluster"), "cluster");
}

// A preset's wires alone: what closed forms speak of.
inline topology::Cluster preset(const std::string& name, int nodes) {
  return cluster_of(fmt::format("{{preset: {}, nodes: {}, network_profile: none}}", name, nodes));
}
// With the network profile that the preset names.
inline topology::Cluster profiled(const std::string& name, int nodes) {
  return cluster_of(fmt::format("{{preset: {}, nodes: {}}}", name, nodes));
}

// `nodes` nodes on `network`, each with `gpus` GPUs on a crossbar of 100 GB/s (each wire 1 us: 2 us between two GPUs) and one NIC that
// all GPUs reach over it; the NIC and the network have 10 GB/s and 3 us: 1 + 1 + 3 + 1 + 1 = 7 us between nodes under one switch.
inline topology::Cluster plain_cluster(int nodes, int gpus, const std::string& network = "{type: switch, link: ethernet}") {
  std::string wires;
  for (int g = 0; g < gpus; ++g) wires += fmt::format("{{between: [gpu{}, switch0], link: wire}}, ", g);
  return cluster_of(fmt::format(
      "{{name: plain, nodes: {}, links: {{wire: {{bandwidth: 100 GB/s, latency: 1 us}}, ethernet: {{bandwidth: 10 GB/s, latency: 3 us}}}}, "
      "node: {{gpus: {{type: v100-sxm2-16gb, count: {}}}, components: [switch0, nic0], wires: [{}{{between: [switch0, nic0], link: "
      "wire}}]}}, network: {}}}",
      nodes, gpus, wires, network));
}
inline constexpr double kInsideLatency = 2e-6, kInsideBandwidth = 100e9, kBetweenLatency = 7e-6, kBetweenBandwidth = 10e9;

inline std::vector<topology::DeviceId> devices(int count, int first = 0, int stride = 1) {
  std::vector<topology::DeviceId> d;
  for (int i = 0; i < count; ++i) d.emplace_back(static_cast<std::size_t>(first + i * stride));
  return d;
}

}  // namespace test
