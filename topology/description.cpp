#include "topology/description.hpp"

#include <fmt/core.h>

#include <cstdint>

#include "base/diagnostics.hpp"
#include "base/yaml/reader.hpp"
#include "topology/profile_keys.hpp"

namespace topology {
namespace {

constexpr std::int64_t kMaxGpus = 1'000'000;  // of a cluster: more than any has, so that a slip of the pen is found before memory fills

class DescriptionReader {
 public:
  DescriptionReader(base::Diagnostics& sink, int preset_gpus) : sink_(sink), preset_gpus_(preset_gpus) {}

  ClusterDescription read(const base::Yaml& section, const std::string& path) {
    base::MapReader map(section, path, sink_);
    for (const char* key : {"preset", "file"}) (void)map.optional(key);  // already taken in by expand_cluster
    cluster_.name = map.text("name").value_or("cluster");
    cluster_.network_profile = read_network_profile(map).value_or("");
    if (cluster_.network_profile == "none") cluster_.network_profile.clear();
    read_links(map);
    if (map.has("node_types")) {
      read_node_types(map);
    } else {
      const auto nodes = map.integer("nodes", 1, kMaxNodes);
      if (const auto* node = map.required("node")) add_node_type(*node, map.path_of("node"), static_cast<int>(nodes.value_or(1)));
      map.require("nodes");
    }
    check_size(map);
    read_network_of(map);
    const auto* faults = map.optional("faults");
    map.finish();
    if (sink_.empty()) check_nics(section, path);  // only a sound description has NICs to count
    if (sink_.empty() && faults != nullptr) read_faults(*faults, map.path_of("faults"), cluster_, sink_);
    return std::move(cluster_);
  }

 private:
  void read_links(base::MapReader& cluster) {
    const auto* node = cluster.required("links");
    if (node == nullptr) return;
    base::MapReader map(*node, cluster.path_of("links"), sink_);
    if (!node->is_map()) return;
    for (const auto& entry : node->entries) {
      (void)map.optional(entry.key);  // every name is a link type of the user's: none is unknown
      read_link(entry, map.path_of(entry.key));
    }
  }

  void read_link(const base::Yaml::Entry& entry, const std::string& path) {
    base::MapReader map(entry.value, path, sink_);
    LinkType link;
    link.name = entry.key;
    if (const auto bandwidth = map.bandwidth("bandwidth")) {
      link.bandwidth = *bandwidth;
      if (!(bandwidth->value() > 0)) map.complain("bandwidth", "a link's bandwidth must be above 0");
    }
    if (const auto latency = map.seconds("latency")) {
      link.latency = *latency;
      if (latency->value() < 0) map.complain("latency", "a link's latency cannot be negative");
    }
    link.half_duplex = map.boolean("half_duplex").value_or(false);
    map.require("bandwidth");
    map.require("latency");
    map.finish();
    cluster_.links.push_back(std::move(link));
  }

  void add_node_type(const base::Yaml& node, const std::string& path, std::optional<int> count) {
    cluster_.node_types.push_back(read_node_type(node, path, count, cluster_.links, preset_gpus_, sink_));
  }

  void read_node_types(base::MapReader& cluster) {
    const auto* list = cluster.required("node_types");
    if (cluster.has("node") || cluster.has("nodes")) {
      (void)cluster.optional("node");  // both keys are known: the complaint is that they stand here
      (void)cluster.optional("nodes");
      cluster.complain("node_types", "stands instead of \"nodes\" and \"node\", not beside them");
    }
    if (!list->is_sequence() || list->items.empty()) {
      cluster.complain("node_types", "expected a list of {count, gpus, components, wires}");
      return;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i)
      add_node_type(list->items[i], fmt::format("{}[{}]", cluster.path_of("node_types"), i), std::nullopt);
  }

  void read_network_of(base::MapReader& cluster) {
    const auto* node = cluster.optional("network");
    if (node != nullptr) cluster_.network = read_network(*node, cluster.path_of("network"), cluster_, sink_);
    else if (cluster_.domains() > 1)
      cluster.complain("network", "several nodes need a network", "e.g. network: {type: switch, link: infiniband}");
  }

  void check_size(base::MapReader& cluster) {
    std::int64_t gpus = 0;
    for (const auto& t : cluster_.node_types) gpus += std::int64_t{t.count} * t.gpus;
    if (gpus > kMaxGpus)
      cluster.complain(cluster.has("node_types") ? "node_types" : "nodes", fmt::format("{} GPUs are too many", gpus),
                       fmt::format("at most {}", kMaxGpus));
  }

  void check_nics(const base::Yaml& section, const std::string& path) {
    if (cluster_.domains() < 2) return;
    for (std::size_t i = 0; i < cluster_.node_types.size(); ++i) {
      if (!cluster_.node_types[i].nics().empty()) continue;
      const auto* list = section.find("node_types");
      const auto* node = list != nullptr ? &list->items[i] : section.find("node");
      const std::string where = list != nullptr ? fmt::format("{}.node_types[{}]", path, i) : path + ".node";
      sink_.add(node->mark, where, "no NIC, so it cannot reach the other nodes", "add nic0 to components and a wire to it");
    }
  }

  base::Diagnostics& sink_;
  int preset_gpus_;
  ClusterDescription cluster_;
};

}  // namespace

std::vector<int> NodeType::nics() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < vertices.size(); ++i)
    if (vertices[i].kind == VertexKind::nic) result.push_back(static_cast<int>(i));
  return result;
}

int NodeType::fabric() const { return domain ? static_cast<int>(vertices.size()) - 1 : -1; }

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

ClusterDescription read_description(const base::Yaml& section, const std::string& path, int preset_gpus) {
  base::Diagnostics sink;
  auto description = DescriptionReader(sink, preset_gpus).read(section, path);
  sink.throw_if_any();
  return description;
}

}  // namespace topology
