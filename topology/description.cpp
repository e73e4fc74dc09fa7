#include "topology/description.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/diagnostics.hpp"

namespace topology {
namespace {

constexpr int kMaxNodes = 100'000;
constexpr int kMaxGpusPerNode = 1024;  // tables of routes are quadratic in it

// The number of a name "gpu12", or nullopt for any other name.
std::optional<int> gpu_number(std::string_view name) {
  if (!name.starts_with("gpu") || name.size() == 3) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::optional<VertexKind> kind_of_component(std::string_view name) {
  if (name.starts_with("cpu")) return VertexKind::cpu;
  if (name.starts_with("switch")) return VertexKind::switching;
  if (name.starts_with("nic")) return VertexKind::nic;
  return std::nullopt;
}

class DescriptionReader {
 public:
  DescriptionReader(base::Diagnostics& sink, int preset_gpus) : sink_(sink), preset_gpus_(preset_gpus) {}

  ClusterDescription read(const base::Yaml& section, const std::string& path) {
    base::MapReader map(section, path, sink_);
    (void)map.optional("preset");  // already taken in by expand_cluster
    cluster_.name = map.text("name").value_or("cluster");
    read_links(map);
    if (map.has("node_types")) {
      read_node_types(map);
    } else {
      const auto nodes = map.integer("nodes", 1, kMaxNodes);
      if (const auto* node = map.required("node")) read_node(*node, map.path_of("node"), static_cast<int>(nodes.value_or(1)));
      map.require("nodes");
    }
    read_network(map);
    map.finish();
    if (sink_.empty()) check_nics(section, path);
    return std::move(cluster_);
  }

 private:
  void read_links(base::MapReader& cluster) {
    const auto* node = cluster.required("links");
    if (node == nullptr) return;
    base::MapReader map(*node, cluster.path_of("links"), sink_);
    if (!node->is_map()) return;
    for (const auto& entry : node->entries) {
      (void)map.optional(entry.key);
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

  void read_node_types(base::MapReader& cluster) {
    const auto* list = cluster.required("node_types");
    if (cluster.has("node") || cluster.has("nodes")) {
      (void)cluster.optional("node");
      (void)cluster.optional("nodes");
      cluster.complain("node_types", "stands instead of \"nodes\" and \"node\", not beside them");
    }
    if (!list->is_sequence() || list->items.empty()) {
      cluster.complain("node_types", "expected a list of {count, gpus, components, wires}");
      return;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) read_node(list->items[i], fmt::format("{}[{}]", cluster.path_of("node_types"), i), std::nullopt);
  }

  // `count`: known for the only type of a cluster; else the node says it.
  void read_node(const base::Yaml& node, const std::string& path, std::optional<int> count) {
    base::MapReader map(node, path, sink_);
    NodeType type;
    if (count) {
      type.count = *count;
    } else {
      type.count = static_cast<int>(map.integer("count", 1, kMaxNodes).value_or(1));
      map.require("count");
    }
    if (const auto* gpus = map.required("gpus")) read_gpus(*gpus, map.path_of("gpus"), type);
    for (int i = 0; i < type.gpus; ++i) type.vertices.push_back({fmt::format("gpu{}", i), VertexKind::gpu, false});
    if (const auto* components = map.optional("components")) read_components(*components, map.path_of("components"), type);
    if (const auto* wires = map.optional("wires")) read_wires(*wires, map.path_of("wires"), type);
    map.finish();
    cluster_.node_types.push_back(std::move(type));
  }

  void read_gpus(const base::Yaml& gpus, const std::string& path, NodeType& type) {
    base::MapReader map(gpus, path, sink_);
    type.gpu_type = map.text("type").value_or("");
    type.gpus = static_cast<int>(map.integer("count", 1, kMaxGpusPerNode).value_or(0));
    type.memory = map.bytes("memory");
    if (type.memory && !(type.memory->value() > 0)) map.complain("memory", "a GPU's memory must be above 0");
    map.require("type");
    map.require("count");
    map.finish();
  }

  void read_components(const base::Yaml& list, const std::string& path, NodeType& type) {
    if (!list.is_sequence()) {
      sink_.add(list.mark, path, "expected a list of names", "e.g. [cpu0, nic0]");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) read_component(list.items[i], fmt::format("{}[{}]", path, i), type);
  }

  void read_component(const base::Yaml& item, const std::string& path, NodeType& type) {
    Vertex vertex;
    if (item.is_map() && item.entries.size() == 1) {
      vertex.name = item.entries[0].key;
      base::MapReader map(item.entries[0].value, path + "." + vertex.name, sink_);
      vertex.in_network = map.boolean("in_network").value_or(false);
      map.finish();
    } else if (const auto name = base::as_text(item, path, sink_)) {
      vertex.name = *name;
    } else {
      return;
    }
    const auto kind = kind_of_component(vertex.name);
    if (!kind) {
      sink_.add(item.mark, path, fmt::format("\"{}\" is no component: names begin with cpu, switch or nic", vertex.name));
      return;
    }
    vertex.kind = *kind;
    if (vertex.in_network && *kind != VertexKind::switching) sink_.add(item.mark, path, "only a switch can have in_network");
    if (std::ranges::any_of(type.vertices, [&](const Vertex& v) { return v.name == vertex.name; })) {
      sink_.add(item.mark, path, fmt::format("\"{}\" is there twice", vertex.name));
      return;
    }
    type.vertices.push_back(std::move(vertex));
  }

  void read_wires(const base::Yaml& list, const std::string& path, NodeType& type) {
    if (!list.is_sequence()) {
      sink_.add(list.mark, path, "expected a list of wires", "e.g. - {between: [gpu0, cpu0], link: pcie}");
      return;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) read_wire(list.items[i], fmt::format("{}[{}]", path, i), type);
  }

  void read_wire(const base::Yaml& item, const std::string& path, NodeType& type) {
    base::MapReader map(item, path, sink_);
    Wire wire;
    const auto link = read_link_name(map, "link");
    map.require("link");
    wire.count = static_cast<int>(map.integer("count", 1, 1000).value_or(1));
    const auto* between = map.optional("between");
    const auto* all_pairs = map.optional("all_pairs");
    map.finish();
    if (!item.is_map()) return;
    if ((between == nullptr) == (all_pairs == nullptr)) {
      sink_.add(item.mark, path, "a wire needs either \"between\" or \"all_pairs\"");
      return;
    }
    const bool pair = between != nullptr;
    const auto* ends = pair ? between : all_pairs;
    const std::string ends_path = map.path_of(pair ? "between" : "all_pairs");
    if (!ends->is_sequence() || (pair ? ends->items.size() != 2 : ends->items.size() < 2)) {
      sink_.add(ends->mark, ends_path, pair ? "expected two names" : "expected a list of at least two names");
      return;
    }
    std::vector<int> found = read_ends(*ends, ends_path, type);
    if (!link) return;
    wire.link = *link;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = i + 1; j < found.size(); ++j) {
        wire.a = found[i];
        wire.b = found[j];
        type.wires.push_back(wire);
      }
    }
  }

  // The vertices named, without GPUs that an override took away from a preset.
  std::vector<int> read_ends(const base::Yaml& ends, const std::string& path, const NodeType& type) {
    std::vector<int> found;
    for (std::size_t i = 0; i < ends.items.size(); ++i) {
      const std::string item_path = fmt::format("{}[{}]", path, i);
      const auto name = base::as_text(ends.items[i], item_path, sink_);
      if (!name) continue;
      const auto at = std::ranges::find(type.vertices, *name, &Vertex::name);
      const auto gpu = gpu_number(*name);
      if (at == type.vertices.end()) {
        if (type.gpus == 0 || (gpu && *gpu < preset_gpus_)) continue;  // the missing count is reported where it is missing
        complain_unknown_end(ends.items[i], item_path, *name, type);
        continue;
      }
      const int vertex = static_cast<int>(at - type.vertices.begin());
      if (std::ranges::find(found, vertex) != found.end()) {
        sink_.add(ends.items[i].mark, item_path, fmt::format("\"{}\" is there twice", *name));
        continue;
      }
      found.push_back(vertex);
    }
    return found;
  }

  void complain_unknown_end(const base::Yaml& item, const std::string& path, const std::string& name, const NodeType& type) {
    std::vector<std::string> names;
    for (const auto& v : type.vertices) names.push_back(v.name);
    if (gpu_number(name)) {
      sink_.add(item.mark, path, fmt::format("the node has no \"{}\"", name), type.gpus == 1 ? "its only GPU is gpu0" : fmt::format("its GPUs are gpu0 to gpu{}", type.gpus - 1));
    } else {
      sink_.add(item.mark, path, fmt::format("the node has no \"{}\"", name), base::suggest(name, names));
    }
  }

  // The index of the link type named at `key`; what is wrong is reported.
  std::optional<int> read_link_name(base::MapReader& map, std::string_view key) {
    const auto name = map.text(key);
    if (!name || cluster_.links.empty()) return std::nullopt;
    const auto at = std::ranges::find(cluster_.links, *name, &LinkType::name);
    if (at != cluster_.links.end()) return static_cast<int>(at - cluster_.links.begin());
    std::vector<std::string> names;
    for (const auto& l : cluster_.links) names.push_back(l.name);
    map.complain(key, fmt::format("no link is called \"{}\"", *name), base::suggest(*name, names));
    return std::nullopt;
  }

  void read_network(base::MapReader& cluster) {
    const auto* node = cluster.optional("network");
    if (node == nullptr) {
      if (cluster_.nodes() > 1) cluster.complain("network", "several nodes need a network", "e.g. network: {type: switch, link: infiniband}");
      return;
    }
    static const std::array<std::string, 6> kTypes = {"switch", "fat-tree", "rail", "dragonfly", "torus", "custom"};
    base::MapReader map(*node, cluster.path_of("network"), sink_);
    const auto type = map.choice("type", kTypes);
    const auto link = read_link_name(map, "link");
    auto& network = cluster_.network;
    network.oversubscription = map.number("oversubscription", 1.0, 1e6).value_or(1.0);
    network.nodes_per_leaf = static_cast<int>(map.integer("nodes_per_leaf", 1, kMaxNodes).value_or(network.nodes_per_leaf));
    map.require("type");
    map.require("link");
    map.finish();
    network.link = link.value_or(0);
    if (!type) return;
    if (*type > 2) {
      map.complain("type", fmt::format("\"{}\" is not there yet", kTypes[*type]), "one of: switch, fat-tree, rail");
      return;
    }
    network.kind = *type == 0 ? NetworkKind::single_switch : *type == 1 ? NetworkKind::fat_tree : NetworkKind::rail;
    if (*type == 0 && network.oversubscription > 1) {
      map.complain("oversubscription", "a single switch is not oversubscribed", "write type: fat-tree, with nodes_per_leaf");
    }
  }

  void check_nics(const base::Yaml& section, const std::string& path) {
    if (cluster_.nodes() < 2) return;
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
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    if (vertices[i].kind == VertexKind::nic) result.push_back(static_cast<int>(i));
  }
  return result;
}

int ClusterDescription::nodes() const {
  int total = 0;
  for (const auto& t : node_types) total += t.count;
  return total;
}

ClusterDescription read_description(const base::Yaml& section, const std::string& path, int preset_gpus) {
  base::Diagnostics sink;
  auto description = DescriptionReader(sink, preset_gpus).read(section, path);
  sink.throw_if_any();
  return description;
}

}  // namespace topology
