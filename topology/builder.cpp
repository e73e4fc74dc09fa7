// Makes a Cluster of a description.
//
// Links: each wire gives two, one per direction, or one shared by both when half duplex. Network: every NIC has an up and a down link
// of the network's link type. Latency: the up link carries the link type's whole latency and the down link none, so crossing one
// switch costs it once; links between switches are those of topology/networks.
// A half-duplex network has one link per NIC for both directions, which carries the latency each way; between switches there are two.

#include "topology/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "topology/routing.hpp"

namespace topology {
namespace {

// Which NICs each GPU uses: nearest kind of path, widest, fewest hops, least latency; GPUs for which the same several NICs are equally
// good share them out in order (on a DGX A100 two GPUs and two NICs share a PCIe switch: each GPU gets its own).
std::vector<std::vector<int>> assign_nics(const NodeTables& t) {
  std::map<std::vector<int>, std::vector<int>> gpus_of;  // equally good NICs -> GPUs, ascending
  for (int gpu = 0; gpu < t.gpus; ++gpu) {
    const auto merit = [&](int nic) {
      const auto& p = nth(t.to_nic, gpu * t.nics + nic);
      return std::tuple(!p.found, p.kind, -p.bandwidth, p.links.size(), p.latency);
    };
    std::vector<int> best;
    bool has_lost = false;  // its own: one of others has to do
    for (int nic = 0; nic < t.nics; ++nic) {
      if (nth(t.failed_nics, nic)) continue;
      if (!best.empty() && merit(nic) < merit(best.front())) best.clear();
      if (best.empty() || merit(nic) == merit(best.front())) best.push_back(nic);
    }
    for (int nic = 0; !best.empty() && nic < t.nics; ++nic)
      has_lost = has_lost || (nth(t.failed_nics, nic) && merit(nic) < merit(best.front()));
    if (has_lost) best = {best[static_cast<std::size_t>(gpu) % best.size()]};
    if (!best.empty()) gpus_of[best].push_back(gpu);
  }
  std::vector<std::vector<int>> result(static_cast<std::size_t>(t.gpus));
  for (const auto& [nics, gpus] : gpus_of) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::size_t begin = i * nics.size() / gpus.size(), end = std::max(begin + 1, (i + 1) * nics.size() / gpus.size());
      nth(result, gpus[i]).assign(nics.begin() + static_cast<std::ptrdiff_t>(begin), nics.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return result;
}

// Every GPU must reach every other, the fabric of its domain, and, where there is a network to reach, every NIC of its node.
void check_connected(const NodeType& type, const NodeTables& t, bool needs_nics, base::Diagnostics& sink) {
  const auto complain = [&](int gpu, const std::string& other) {
    sink.add(type.mark, type.path, fmt::format("no wires lead from gpu{} to {}", gpu, other),
             "add a wire between them or to a component that both reach");
  };
  for (int a = 0; a < t.gpus; ++a) {
    for (int b = a + 1; b < t.gpus; ++b) {
      if (!nth(t.between_gpus, a * t.gpus + b).found) return complain(a, fmt::format("gpu{}", b));
    }
    if (!t.to_fabric.empty() && nth(t.to_fabric, a).kind != RouteKind::fabric)
      return sink.add(type.mark, type.path, fmt::format("gpu{} has no link left to the fabric of its domain", a),
                      "write e.g. left: 0.5 if some of its links are there, or leave the node out");
    if (needs_nics && nth(t.nics_of_gpu, a).empty())
      return sink.add(type.mark, type.path, fmt::format("no NIC is left to gpu{}", a), "leave the node out: nodes, or node_types");
    for (int nic = 0; needs_nics && nic < t.nics; ++nic) {
      if (nth(t.failed_nics, nic)) continue;
      const auto vertex = static_cast<std::size_t>(nth(type.nics(), nic));
      if (!nth(t.to_nic, a * t.nics + nic).found) return complain(a, type.vertices[vertex].name);
    }
  }
}

// Without peer access what GPUs on one PCIe switch exchange goes up to the host's memory and down again (NCCL's transport "SHM").
Path joined(Path up, const Path& down) {
  up.links.insert(up.links.end(), down.links.begin(), down.links.end());
  up.bandwidth = std::min(up.bandwidth, down.bandwidth);
  up.latency += down.latency;
  up.kind = RouteKind::one_socket;
  return up;
}

// The best of the paths to the CPUs, as best_paths ranks paths to one; nullopt: there is none.
std::optional<std::pair<int, Path>> nearest_cpu(const NodeType& type, const std::vector<Path>& paths) {
  std::optional<std::pair<int, Path>> best;
  for (std::size_t v = 0; v < type.vertices.size(); ++v) {
    const Path& p = paths[v];
    if (type.vertices[v].kind != VertexKind::cpu || !p.found) continue;
    const auto rank = [](const Path& x) { return std::tuple(x.kind, -x.bandwidth, x.links.size()); };
    if (!best || rank(p) < rank(best->second)) best = {static_cast<int>(v), p};
  }
  return best;
}

// The narrowest link of a path, each shared equally among the GPUs whose paths take it.
base::BytesPerSecond shared_bandwidth(const Path& path, const std::map<int, int>& users, std::span<const Link> links) {
  base::BytesPerSecond least(std::numeric_limits<double>::infinity());
  for (const int link : path.links) least = std::min(least, nth(links, link).bandwidth / users.at(link));
  return least;
}

std::vector<std::optional<HostLink>> host_links(const NodeType& type, std::span<const DirectedEdge> edges, std::span<const Link> wires) {
  std::vector<std::optional<std::pair<int, Path>>> there;
  std::vector<Path> back;
  std::map<int, int> up, down, on_cpu;  // GPUs by link, and by CPU
  for (int gpu = 0; gpu < type.gpus; ++gpu) {
    there.push_back(nearest_cpu(type, best_paths(type.vertices, edges, gpu)));
    back.emplace_back();
    if (!there.back()) continue;
    const auto& [cpu, path] = *there.back();
    back.back() = nth(best_paths(type.vertices, edges, cpu), gpu);
    ++on_cpu[cpu];
    for (const int link : path.links) ++up[link];
    for (const int link : back.back().links) ++down[link];
  }
  std::vector<std::optional<HostLink>> links(there.size());
  for (std::size_t gpu = 0; gpu < there.size(); ++gpu)
    if (there[gpu])
      links[gpu] =
          HostLink{shared_bandwidth(there[gpu]->second, up, wires), shared_bandwidth(back[gpu], down, wires), on_cpu[there[gpu]->first]};
  return links;
}

}  // namespace

class ClusterBuilder {
 public:
  explicit ClusterBuilder(ClusterDescription description) : description_(std::move(description)) {}
  [[nodiscard]] Cluster build() &&;

 private:
  struct TypeLayout {
    std::vector<Link> links;  // name without the node
    std::vector<DirectedEdge> edges;
  };

  [[nodiscard]] TypeLayout lay_out(const NodeType& type) const;
  [[nodiscard]] static NodeTables make_tables(const NodeType& type, const TypeLayout& layout);
  void add_nodes(Cluster::Routing& routing, const std::vector<TypeLayout>& layouts);
  void add_node(Cluster::Routing& routing, std::size_t number, const NodeType& type, const TypeLayout& layout);
  void add_network(Cluster::Routing& routing);
  [[nodiscard]] const NodeType& type_of(const Cluster::Routing& routing, int node) const;
  [[nodiscard]] std::vector<double> shares_left(const SwitchNetwork& network) const;
  void check_joined(const SwitchNetwork& network, const std::vector<double>& left, const Cluster::Routing& routing) const;
  LinkId add_link(int type, std::string name, double multiple, double left, bool has_latency);

  ClusterDescription description_;
  Cluster cluster_;
};

ClusterBuilder::TypeLayout ClusterBuilder::lay_out(const NodeType& type) const {
  TypeLayout layout;
  std::map<std::string, int> names;  // several wires may join one pair
  const auto unique = [&](std::string name) {
    const int n = ++names[name];
    return n == 1 ? name : fmt::format("{}#{}", name, n);
  };
  for (const auto& wire : type.wires) {
    if (wire.left == 0) continue;
    const auto& kind = nth(description_.links, wire.link);
    const base::BytesPerSecond built = kind.bandwidth * wire.count, bandwidth = built * wire.left;
    const auto& a = nth(type.vertices, wire.a).name;
    const auto& b = nth(type.vertices, wire.b).name;
    const int first = static_cast<int>(layout.links.size());
    const int second = kind.half_duplex ? first : first + 1;
    const auto add = [&](const std::string& name) { layout.links.push_back({kind.name, unique(name), bandwidth, kind.latency, built}); };
    add(fmt::format("{}{}{}", a, kind.half_duplex ? "--" : "->", b));
    if (!kind.half_duplex) add(fmt::format("{}->{}", b, a));
    layout.edges.push_back({wire.a, wire.b, first, built.value(), kind.latency.value()});
    layout.edges.push_back({wire.b, wire.a, second, built.value(), kind.latency.value()});
  }
  return layout;
}

NodeTables ClusterBuilder::make_tables(const NodeType& type, const TypeLayout& layout) {
  const auto paths_from = [&](int vertex) { return best_paths(type.vertices, layout.edges, vertex); };
  const auto to_gpus = [&](int vertex) {
    std::vector<Path> paths = paths_from(vertex);
    paths.resize(static_cast<std::size_t>(type.gpus));
    return paths;
  };
  const auto nics = type.nics();
  const auto in_network = std::ranges::find_if(type.vertices, &Vertex::in_network);
  const int reducer = in_network == type.vertices.end() ? -1 : static_cast<int>(in_network - type.vertices.begin());
  const int fabric = type.fabric();
  NodeTables t;
  t.gpus = type.gpus;
  t.nics = static_cast<int>(nics.size());
  for (const int nic : nics) t.failed_nics.push_back(nth(type.vertices, nic).left == 0);
  for (int gpu = 0; gpu < t.gpus; ++gpu) {
    const auto paths = paths_from(gpu);
    const auto host = type.peer_access ? std::nullopt : nearest_cpu(type, paths);
    const auto from_host = host ? to_gpus(host->first) : std::vector<Path>();
    for (int other = 0; other < t.gpus; ++other)
      t.between_gpus.push_back(host && nth(paths, other).kind == RouteKind::switches ? joined(host->second, nth(from_host, other))
                                                                                     : nth(paths, other));
    for (const int nic : nics) t.to_nic.push_back(nth(paths, nic));
    if (reducer >= 0) t.to_switch.push_back(nth(paths, reducer));
    if (fabric >= 0) t.to_fabric.push_back(nth(paths, fabric));
  }
  // Paths back are looked up for themselves: ties are broken by link numbers, which differ between directions.
  t.from_nic.resize(t.to_nic.size());
  for (int nic = 0; nic < t.nics; ++nic) {
    const auto paths = to_gpus(nth(nics, nic));
    for (int gpu = 0; gpu < t.gpus; ++gpu) nth(t.from_nic, gpu * t.nics + nic) = nth(paths, gpu);
  }
  if (reducer >= 0) t.from_switch = to_gpus(reducer);
  if (fabric >= 0) t.from_fabric = to_gpus(fabric);
  t.to_host = host_links(type, layout.edges, layout.links);
  t.nics_of_gpu = assign_nics(t);
  for (int place = 0; place < (type.domain ? type.domain->used() : 1); ++place)
    for (const std::vector<int>& own : t.nics_of_gpu) {
      std::vector<int>& numbered = t.nics_in_domain.emplace_back(own);
      for (int& nic : numbered) nic += place * t.nics;
    }
  return t;
}

LinkId ClusterBuilder::add_link(int type, std::string name, double multiple, double left, bool has_latency) {
  const LinkId id(cluster_.links_.size());
  const auto& kind = nth(description_.links, type);
  const base::BytesPerSecond built = kind.bandwidth * multiple;
  cluster_.links_.push_back({kind.name, std::move(name), built * left, has_latency ? kind.latency : base::Seconds(0), built});
  return id;
}

void ClusterBuilder::add_nodes(Cluster::Routing& routing, const std::vector<TypeLayout>& layouts) {
  auto faulty = description_.faulty.begin();
  for (std::size_t type = 0; type < description_.node_types.size(); ++type) {
    const auto& domain = description_.node_types[type].domain;
    const int nodes_in_domain = domain ? domain->used() : 1;
    for (int i = 0; i < description_.node_types[type].count; ++i) {
      const bool differs = faulty != description_.faulty.end() && faulty->node == cluster_.nodes_;
      const std::size_t own =
          differs ? description_.node_types.size() + static_cast<std::size_t>(faulty - description_.faulty.begin()) : type;
      routing.place_in_domain.push_back(i % nodes_in_domain);
      if (i % nodes_in_domain == 0) cluster_.domain_devices_.emplace_back();
      add_node(routing, own, differs ? faulty->type : description_.node_types[type], layouts[own]);
      if (differs) ++faulty;
    }
  }
}

void ClusterBuilder::add_node(Cluster::Routing& routing, std::size_t number, const NodeType& type, const TypeLayout& layout) {
  const int node = cluster_.nodes_++;
  routing.type_of_node.push_back(static_cast<int>(number));
  routing.first_link.push_back(static_cast<std::uint32_t>(cluster_.links_.size()));
  for (const auto& link : layout.links)
    cluster_.links_.push_back({link.type, fmt::format("node{}:{}", node, link.name), link.bandwidth, link.latency, link.built});
  auto& devices = cluster_.node_devices_.emplace_back();
  auto& of_domain = cluster_.domain_devices_.back();
  for (int gpu = 0; gpu < type.gpus; ++gpu) {
    const Slowdown slow = type.slowdown.empty() ? Slowdown{} : nth(type.slowdown, gpu);
    const DeviceId id(cluster_.devices_.size());
    cluster_.devices_.push_back({type.gpu_type, type.memory, node, gpu, cluster_.domains() - 1, static_cast<int>(of_domain.size()),
                                 type.speed, slow.gpu, slow.host / type.host_speed});
    devices.push_back(id);
    of_domain.push_back(id);
  }
}

void ClusterBuilder::add_network(Cluster::Routing& routing) {
  if (cluster_.nodes_ < 2 || description_.network.kind == NetworkKind::none) {
    base::Diagnostics sink;
    for (const NetworkFault& f : description_.network_faults)
      sink.add(f.mark, f.path, "there is no network whose link could fail", "write node, too, for the wires of a node");
    sink.throw_if_any();
    return;
  }
  const Network& network = description_.network;
  NicCounts counts;
  for (int node = 0; node < cluster_.nodes_; ++node) counts.push_back(routing.tables_of(node).nics);
  std::unique_ptr<SwitchNetwork> made = make_network(network, counts);
  std::vector<double> left = shares_left(*made);
  check_joined(*made, left, routing);
  if (!description_.network_faults.empty()) made = with_faults(std::move(made), left);
  const bool half_duplex = nth(description_.links, network.link).half_duplex;
  for (int node = 0; node < cluster_.nodes_; ++node) {
    auto& uplinks = routing.nics.emplace_back();
    const NodeType& type = type_of(routing, node);
    const auto nics = type.nics();
    for (int nic = 0; nic < static_cast<int>(nics.size()); ++nic) {
      const Vertex& port = nth(type.vertices, nth(nics, nic));
      const double share = port.left > 0 ? port.left : 1;  // no route takes one that has failed
      const auto end = fmt::format("node{}:{}", node, port.name);
      const auto above = made->name_of(made->switch_of(node, nic));
      if (half_duplex) {
        const LinkId both = add_link(network.link, fmt::format("{}--{}", end, above), 1, share, true);
        uplinks.push_back({both, both});
      } else {
        const LinkId up = add_link(network.link, fmt::format("{}->{}", end, above), 1, share, true);
        uplinks.push_back({up, add_link(network.link, fmt::format("{}->{}", above, end), 1, share, false)});
      }
    }
  }
  routing.first_network_link = static_cast<std::uint32_t>(cluster_.links_.size());
  std::map<std::pair<int, int>, int> between;  // several links may join one pair
  for (const SwitchLink& l : made->links()) {
    const int n = ++between[{l.from, l.to}];
    const auto name = fmt::format("{}->{}", made->name_of(l.from), made->name_of(l.to));
    (void)add_link(l.type, n == 1 ? name : fmt::format("{}#{}", name, n), l.multiple, l.left, l.has_latency);
  }
  routing.network = std::move(made);
}

const NodeType& ClusterBuilder::type_of(const Cluster::Routing& routing, int node) const {
  const auto type = static_cast<std::size_t>(nth(routing.type_of_node, node));
  const std::size_t sound = description_.node_types.size();
  return type < sound ? description_.node_types[type] : description_.faulty[type - sound].type;
}

// The share of each link that the faults leave, which take both directions.
std::vector<double> ClusterBuilder::shares_left(const SwitchNetwork& network) const {
  base::Diagnostics sink;
  std::vector<double> left(network.links().size(), 1);
  for (const NetworkFault& f : description_.network_faults) {
    bool found = false;
    for (std::size_t l = 0; l < left.size(); ++l) {
      const SwitchLink& link = network.links()[l];
      const std::string from = network.name_of(link.from), to = network.name_of(link.to);
      if (!(from == f.a && to == f.b) && !(from == f.b && to == f.a)) continue;
      left[l] *= f.left;
      found = true;
    }
    if (!found)
      sink.add(f.mark, f.path, fmt::format("no link of the network joins {} and {}", f.a, f.b),
               "foreshard show cluster --json names links; in a node write node, too");
  }
  sink.throw_if_any();
  return left;
}

// Every switch with NICs must reach every other. A custom network may be in parts by itself, any other by its faults alone.
void ClusterBuilder::check_joined(const SwitchNetwork& network, const std::vector<double>& left, const Cluster::Routing& routing) const {
  if (description_.network.kind != NetworkKind::custom && description_.network_faults.empty()) return;
  std::set<int> ends;
  for (int node = 0; node < cluster_.nodes_; ++node)
    for (int nic = 0; nic < routing.tables_of(node).nics; ++nic) ends.insert(network.switch_of(node, nic));
  const auto apart = unreached(network, left, ends);
  if (!apart) return;
  const auto message = fmt::format("no way leads from {} to {}", network.name_of(apart->first), network.name_of(apart->second));
  if (description_.network_faults.empty())
    base::refuse(description_.network.custom.mark, description_.network.custom.path, message, "add links between switches");
  const NetworkFault& f = description_.network_faults.front();
  base::refuse(f.mark, f.path, message, "write e.g. left: 0.5 if some of the links between the two are there, or leave nodes out");
}

Cluster ClusterBuilder::build() && {
  auto routing = std::make_shared<Cluster::Routing>();
  std::vector<TypeLayout> layouts;
  base::Diagnostics sink;
  const bool needs_nics = description_.domains() > 1;
  const auto add_type = [&](const NodeType& type) {
    layouts.push_back(lay_out(type));
    routing->tables.push_back(make_tables(type, layouts.back()));
    check_connected(type, routing->tables.back(), needs_nics, sink);
  };
  for (const NodeType& type : description_.node_types) add_type(type);
  for (const FaultyNode& f : description_.faulty) add_type(f.type);
  sink.throw_if_any();
  cluster_.name_ = description_.name;
  for (const LinkType& link : description_.links)
    if (link.assumed) cluster_.assumed_links_.insert(link.name);
  cluster_.network_profile_ = description_.network_profile;
  routing->description = description_;
  add_nodes(*routing, layouts);
  add_network(*routing);
  cluster_.routing_ = std::move(routing);
  return std::move(cluster_);
}

Cluster build_cluster(ClusterDescription description) { return ClusterBuilder(std::move(description)).build(); }

}  // namespace topology
