#pragma once
// Clusters in a line, and routes as text.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace topology_test {

inline topology::Cluster cluster_of(const std::string& section) {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(section, "c.yaml"), "cluster"), "cluster");
}

inline topology::DeviceId gpu(int i) { return topology::DeviceId(static_cast<std::size_t>(i)); }

// "gpu0->cpu0, cpu0->gpu1 at 50 GB/s in 2.6 us"
inline std::string text_of(const topology::Cluster& c, const topology::Route& r) {
  std::vector<std::string> names;
  for (const auto l : r.links) names.push_back(c.link(l).name);
  return fmt::format("{} at {} in {}", fmt::join(names, ", "), base::to_text(r.bandwidth), base::to_text(r.latency));
}

inline std::string route_text(const topology::Cluster& c, int from, int to) { return text_of(c, c.route(gpu(from), gpu(to))); }

// Every problem of a section, rendered.
inline std::string errors_of(const std::string& section) {
  try {
    (void)cluster_of(section);
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return "none";
}

}  // namespace topology_test
