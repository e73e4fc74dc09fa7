#include "topology/description.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "base/diagnostics.hpp"
#include "base/yaml/reader.hpp"
#include "topology/profile_keys.hpp"

namespace topology {
namespace {

constexpr std::int64_t kMaxGpus = 1'000'000;  // of a cluster: more than any has, so that a slip of the pen is found before memory fills

struct DescriptionScope {
  base::Diagnostics& sink;
  int preset_gpus;
  ClusterDescription cluster;
};

void read_link(DescriptionScope& d, const base::Yaml::Entry& entry, const std::string& path) {
  base::MapReader map(entry.value, path, d.sink);
  LinkType link;
  link.name = entry.key;
  if (const auto bandwidth = map.bandwidth("bandwidth")) {
    link.bandwidth = *bandwidth;
    if (!(bandwidth->value() > 0)) map.complain("bandwidth", "a link's bandwidth must be above 0");
  }
  link.latency = map.seconds("latency").value_or(link.latency);
  link.half_duplex = map.boolean("half_duplex").value_or(false);
  link.assumed = map.boolean("assumed").value_or(false);
  map.require("bandwidth");
  map.require("latency");
  map.finish();
  d.cluster.links.push_back(std::move(link));
}

void read_links(DescriptionScope& d, base::MapReader& cluster) {
  const auto* node = cluster.required("links");
  if (node == nullptr) return;
  base::MapReader map(*node, cluster.path_of("links"), d.sink);
  if (!node->is_map()) return;
  for (const auto& entry : node->entries) {
    (void)map.optional(entry.key);  // every name is a link type of the user's: none is unknown
    read_link(d, entry, map.path_of(entry.key));
  }
}

void add_node_type(DescriptionScope& d, const base::Yaml& node, const std::string& path, std::optional<int> count) {
  d.cluster.node_types.push_back(read_node_type(node, path, count, d.cluster.links, d.preset_gpus, d.sink));
}

void read_node_types(DescriptionScope& d, base::MapReader& cluster) {
  const auto* list = cluster.required("node_types");
  if (cluster.has("node") || cluster.has("nodes")) {
    (void)cluster.optional("node");  // both keys are known: the complaint is that they are here
    (void)cluster.optional("nodes");
    cluster.complain("node_types", "replaces \"nodes\" and \"node\"");
  }
  if (!list->is_sequence() || list->items.empty()) {
    cluster.complain("node_types", "expected a list of {count, gpus, components, wires}");
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i)
    add_node_type(d, list->items[i], fmt::format("{}[{}]", cluster.path_of("node_types"), i), std::nullopt);
}

void check_size(DescriptionScope& d, base::MapReader& cluster) {
  std::int64_t gpus = 0;
  for (const auto& t : d.cluster.node_types) gpus += std::int64_t{t.count} * t.gpus;
  if (gpus > kMaxGpus)
    cluster.complain(cluster.has("node_types") ? "node_types" : "nodes", fmt::format("{} GPUs are too many", gpus),
                     fmt::format("at most {}", kMaxGpus));
}

void read_network_of(DescriptionScope& d, base::MapReader& cluster) {
  const auto* node = cluster.optional("network");
  if (node != nullptr) d.cluster.network = read_network(*node, cluster.path_of("network"), d.cluster, d.sink);
  else if (d.cluster.domains() > 1)
    cluster.complain("network", "several nodes need a network", "e.g. network: {type: switch, link: infiniband}");
}

void check_nics(DescriptionScope& d, const base::Yaml& section, const std::string& path) {
  if (d.cluster.domains() < 2) return;
  for (std::size_t i = 0; i < d.cluster.node_types.size(); ++i) {
    if (!d.cluster.node_types[i].nics().empty()) continue;
    const auto* list = section.find("node_types");
    const auto* node = list != nullptr ? &list->items[i] : section.find("node");
    const std::string where = list != nullptr ? fmt::format("{}.node_types[{}]", path, i) : path + ".node";
    d.sink.add(node->mark, where, "no NIC, so it cannot reach the other nodes", "add nic0 to components and a wire to it");
  }
}

}  // namespace

std::vector<int> NodeType::nics() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < vertices.size(); ++i)
    if (vertices[i].kind == VertexKind::nic) result.push_back(static_cast<int>(i));
  return result;
}

int NodeType::fabric() const { return domain ? static_cast<int>(vertices.size()) - 1 : -1; }

bool NodeType::has_lost_any() const {
  const auto is_lost = [](const auto& part) { return part.left == 0; };
  return std::ranges::any_of(wires, is_lost) || std::ranges::any_of(vertices, is_lost);
}

int ClusterDescription::type_of(int node) const {
  int type = 0;
  for (; node >= nth(node_types, type).count; ++type) node -= nth(node_types, type).count;
  return type;
}

int ClusterDescription::nodes() const {
  int total = 0;
  for (const auto& t : node_types) total += t.count;
  return total;
}

int ClusterDescription::domains() const {
  int total = 0;
  for (const auto& t : node_types) total += t.domain ? (t.count - 1) / t.domain->used() + 1 : t.count;
  return total;
}

void read_each(const base::Yaml& list, const std::string& path, base::Diagnostics& sink, std::string_view what, const std::string& hint,
               const std::function<void(const base::Yaml&, const std::string&)>& read) {
  if (!list.is_sequence()) sink.add(list.mark, path, fmt::format("expected {}", what), hint);
  for (std::size_t i = 0; i < list.items.size(); ++i) read(list.items[i], fmt::format("{}[{}]", path, i));
}

ClusterDescription read_description(const base::Yaml& section, const std::string& path, int preset_gpus) {
  base::Diagnostics sink;
  DescriptionScope d{sink, preset_gpus, {}};
  base::MapReader map(section, path, d.sink);
  for (const char* key : {"preset", "file"}) (void)map.optional(key);  // already taken in by expand_cluster
  d.cluster.name = map.text("name").value_or("cluster");
  d.cluster.network_profile = read_network_profile(map).value_or("");
  if (d.cluster.network_profile == "none") d.cluster.network_profile.clear();
  read_links(d, map);
  if (map.has("node_types")) {
    read_node_types(d, map);
  } else {
    const auto nodes = map.integer("nodes", 1, kMaxNodes);
    if (const auto* node = map.required("node")) add_node_type(d, *node, map.path_of("node"), static_cast<int>(nodes.value_or(1)));
    map.require("nodes");
  }
  if (!map.boolean("in_network").value_or(true))
    for (NodeType& type : d.cluster.node_types)
      for (Vertex& v : type.vertices) v.in_network = false;
  check_size(d, map);
  read_network_of(d, map);
  const auto* faults = map.optional("faults");
  map.finish();
  if (d.sink.empty()) check_nics(d, section, path);  // only a sound description has NICs to count
  if (d.sink.empty() && faults != nullptr) read_faults(*faults, map.path_of("faults"), d.cluster, d.sink);
  sink.throw_if_any();
  return std::move(d.cluster);
}

}  // namespace topology
