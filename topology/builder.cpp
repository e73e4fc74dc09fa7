#include "topology/builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.hpp"

namespace topology {
namespace {

// Which NICs each GPU uses: nearest kind of path, widest, fewest hops, least latency; GPUs for which the same several NICs are equally
// good share them out in order (on a DGX A100 two GPUs and two NICs share a PCIe switch: each GPU gets its own).
std::vector<std::vector<int>> assign_nics(const NodeTables& t) {
  std::map<std::vector<int>, std::vector<int>> gpus_of;  // equally good NICs -> GPUs, ascending
  for (int gpu = 0; gpu < t.gpus; ++gpu) {
    const auto merit = [&](int nic) {
      const auto& p = t.to_nic[static_cast<std::size_t>(gpu * t.nics + nic)];
      return std::tuple(!p.found, p.kind, -p.bandwidth, p.links.size(), p.latency);
    };
    std::vector<int> best;
    for (int nic = 0; nic < t.nics; ++nic) {
      if (!best.empty() && merit(nic) < merit(best.front())) best.clear();
      if (best.empty() || merit(nic) == merit(best.front())) best.push_back(nic);
    }
    if (!best.empty()) gpus_of[best].push_back(gpu);
  }
  std::vector<std::vector<int>> result(static_cast<std::size_t>(t.gpus));
  for (const auto& [nics, gpus] : gpus_of) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::size_t begin = i * nics.size() / gpus.size(), end = std::max(begin + 1, (i + 1) * nics.size() / gpus.size());
      result[static_cast<std::size_t>(gpus[i])].assign(nics.begin() + static_cast<std::ptrdiff_t>(begin),
                                                       nics.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return result;
}

// Every GPU must reach every other, and, where there is a network to reach, every NIC of its node.
void check_connected(const NodeType& type, const NodeTables& t, bool needs_nics, const std::pair<base::Mark, std::string>& where,
                     base::Diagnostics& sink) {
  const auto complain = [&](int gpu, const std::string& other) {
    sink.add(where.first, where.second, fmt::format("no wires lead from gpu{} to {}", gpu, other),
             "add a wire between them or to a component that both reach");
  };
  for (int a = 0; a < t.gpus; ++a) {
    for (int b = a + 1; b < t.gpus; ++b) {
      if (!t.between_gpus[static_cast<std::size_t>(a * t.gpus + b)].found) return complain(a, fmt::format("gpu{}", b));
    }
    for (int nic = 0; needs_nics && nic < t.nics; ++nic) {
      const auto vertex = static_cast<std::size_t>(type.nics()[static_cast<std::size_t>(nic)]);
      if (!t.to_nic[static_cast<std::size_t>(a * t.nics + nic)].found) return complain(a, type.vertices[vertex].name);
    }
  }
}

}  // namespace

ClusterBuilder::TypeLayout ClusterBuilder::lay_out(const NodeType& type) const {
  TypeLayout layout;
  std::map<std::string, int> names;  // several wires may join one pair
  const auto unique = [&](std::string name) {
    const int n = ++names[name];
    return n == 1 ? name : fmt::format("{}#{}", name, n);
  };
  for (const auto& wire : type.wires) {
    const auto& kind = description_.links[static_cast<std::size_t>(wire.link)];
    const auto bandwidth = kind.bandwidth * wire.count;
    const auto& a = type.vertices[static_cast<std::size_t>(wire.a)].name;
    const auto& b = type.vertices[static_cast<std::size_t>(wire.b)].name;
    const int first = static_cast<int>(layout.links.size());
    const int second = kind.half_duplex ? first : first + 1;
    layout.links.push_back({kind.name, unique(fmt::format("{}{}{}", a, kind.half_duplex ? "--" : "->", b)), bandwidth, kind.latency});
    if (!kind.half_duplex) layout.links.push_back({kind.name, unique(fmt::format("{}->{}", b, a)), bandwidth, kind.latency});
    layout.edges.push_back({wire.a, wire.b, first, bandwidth.value(), kind.latency.value()});
    layout.edges.push_back({wire.b, wire.a, second, bandwidth.value(), kind.latency.value()});
  }
  return layout;
}

NodeTables ClusterBuilder::make_tables(const NodeType& type, const TypeLayout& layout) {
  const auto nics = type.nics();
  const auto reducer = std::ranges::find_if(type.vertices, &Vertex::in_network);
  NodeTables t;
  t.gpus = type.gpus;
  t.nics = static_cast<int>(nics.size());
  for (int gpu = 0; gpu < t.gpus; ++gpu) {
    const auto paths = best_paths(type.vertices, layout.edges, gpu);
    for (int other = 0; other < t.gpus; ++other) t.between_gpus.push_back(paths[static_cast<std::size_t>(other)]);
    for (const int nic : nics) t.to_nic.push_back(paths[static_cast<std::size_t>(nic)]);
    if (reducer != type.vertices.end()) t.to_switch.push_back(paths[static_cast<std::size_t>(reducer - type.vertices.begin())]);
  }
  // Paths back are looked up for themselves: ties are broken by link numbers, which differ between directions.
  t.from_nic.resize(t.to_nic.size());
  for (int nic = 0; nic < t.nics; ++nic) {
    const auto paths = best_paths(type.vertices, layout.edges, nics[static_cast<std::size_t>(nic)]);
    for (int gpu = 0; gpu < t.gpus; ++gpu) t.from_nic[static_cast<std::size_t>(gpu * t.nics + nic)] = paths[static_cast<std::size_t>(gpu)];
  }
  if (reducer != type.vertices.end()) {
    const auto paths = best_paths(type.vertices, layout.edges, static_cast<int>(reducer - type.vertices.begin()));
    t.from_switch.assign(paths.begin(), paths.begin() + t.gpus);
  }
  t.nics_of_gpu = assign_nics(t);
  return t;
}

LinkId ClusterBuilder::add_link(std::string name, base::BytesPerSecond bandwidth, base::Seconds latency) {
  const LinkId id(cluster_.links_.size());
  const auto& kind = description_.links[static_cast<std::size_t>(description_.network.link)];
  cluster_.links_.push_back({kind.name, std::move(name), bandwidth, latency});
  return id;
}

void ClusterBuilder::add_nodes(Cluster::Routing& routing, const std::vector<TypeLayout>& layouts) {
  for (std::size_t type = 0; type < layouts.size(); ++type) {
    const auto& node_type = description_.node_types[type];
    for (int i = 0; i < node_type.count; ++i) {
      const int node = cluster_.nodes_++;
      routing.type_of_node.push_back(static_cast<int>(type));
      routing.first_link.push_back(static_cast<std::uint32_t>(cluster_.links_.size()));
      for (const auto& link : layouts[type].links)
        cluster_.links_.push_back({link.type, fmt::format("node{}:{}", node, link.name), link.bandwidth, link.latency});
      auto& devices = cluster_.node_devices_.emplace_back();
      for (int gpu = 0; gpu < node_type.gpus; ++gpu) {
        devices.emplace_back(cluster_.devices_.size());
        cluster_.devices_.push_back({node_type.gpu_type, node_type.memory, node, gpu});
      }
    }
  }
}

void ClusterBuilder::add_network(Cluster::Routing& routing) {
  if (cluster_.nodes_ < 2) return;
  const auto& network = description_.network;
  const auto& kind = description_.links[static_cast<std::size_t>(network.link)];
  const int leaves = (cluster_.nodes_ - 1) / network.nodes_per_leaf + 1;
  int rails = 0;
  for (int node = 0; node < cluster_.nodes_; ++node) {
    auto& uplinks = routing.nics.emplace_back();
    const auto& type = description_.node_types[static_cast<std::size_t>(routing.type_of_node[static_cast<std::size_t>(node)])];
    const auto nics = type.nics();
    rails = std::max(rails, static_cast<int>(nics.size()));
    for (int nic = 0; nic < static_cast<int>(nics.size()); ++nic) {
      const auto end = fmt::format("node{}:{}", node, type.vertices[static_cast<std::size_t>(nics[static_cast<std::size_t>(nic)])].name);
      const auto group = network.kind == NetworkKind::single_switch
                             ? std::string("switch")
                             : fmt::format("{}{}", network.kind == NetworkKind::rail ? "rail" : "leaf", routing.group_of(node, nic));
      if (kind.half_duplex) {
        const LinkId both = add_link(fmt::format("{}--{}", end, group), kind.bandwidth, kind.latency);
        uplinks.push_back({both, both});
      } else {
        const LinkId up = add_link(fmt::format("{}->{}", end, group), kind.bandwidth, kind.latency);
        uplinks.push_back({up, add_link(fmt::format("{}->{}", group, end), kind.bandwidth, base::Seconds(0))});
      }
    }
  }
  if (network.kind == NetworkKind::fat_tree && leaves > 1) add_groups(routing, leaves, "leaf", "core");
  if (network.kind == NetworkKind::rail && rails > 1) add_groups(routing, rails, "rail", "spine");
}

// A leaf or a rail reaches what is above it at the sum of its NICs over the oversubscription, as the header's table says.
void ClusterBuilder::add_groups(Cluster::Routing& routing, int groups, const std::string& name, const std::string& above) {
  std::vector<int> nics(static_cast<std::size_t>(groups), 0);
  for (int node = 0; node < cluster_.nodes_; ++node) {
    const int count = static_cast<int>(routing.nics[static_cast<std::size_t>(node)].size());
    for (int nic = 0; nic < count; ++nic) ++nics[static_cast<std::size_t>(routing.group_of(node, nic))];
  }
  const auto& kind = description_.links[static_cast<std::size_t>(description_.network.link)];
  for (int g = 0; g < groups; ++g) {
    const auto bandwidth = kind.bandwidth * nics[static_cast<std::size_t>(g)] / description_.network.oversubscription;
    const LinkId up = add_link(fmt::format("{}{}->{}", name, g, above), bandwidth, kind.latency);
    routing.groups.push_back({up, add_link(fmt::format("{}->{}{}", above, name, g), bandwidth, base::Seconds(0))});
  }
}

Cluster ClusterBuilder::build(const std::vector<std::pair<base::Mark, std::string>>& node_marks) && {
  BASE_CHECK(node_marks.size() == description_.node_types.size(), "{} places for {} node types", node_marks.size(),
             description_.node_types.size());
  auto routing = std::make_shared<Cluster::Routing>();
  std::vector<TypeLayout> layouts;
  base::Diagnostics sink;
  for (std::size_t i = 0; i < node_marks.size(); ++i) {
    const auto& type = description_.node_types[i];
    layouts.push_back(lay_out(type));
    routing->tables.push_back(make_tables(type, layouts.back()));
    check_connected(type, routing->tables.back(), description_.nodes() > 1, node_marks[i], sink);
  }
  sink.throw_if_any();
  cluster_.name_ = description_.name;
  cluster_.network_profile_ = description_.network_profile;
  routing->description = description_;
  add_nodes(*routing, layouts);
  add_network(*routing);
  cluster_.routing_ = std::move(routing);
  return std::move(cluster_);
}

}  // namespace topology
