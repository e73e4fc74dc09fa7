#include "reports/html/page_data.hpp"

#include <nlohmann/json.hpp>

#include "reports/json_numbers.hpp"
#include "topology/drawing.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

Json node_json(const topology::Drawing::Node& node) {
  Json j{{"count", node.count}, {"gpus", node.gpus}, {"gpu_type", node.gpu_type}, {"parts", Json::array()}, {"wires", Json::array()}};
  for (const auto& part : node.parts) j["parts"].push_back({{"name", part.name}, {"kind", topology::to_text(part.kind)}});
  for (const auto& wire : node.wires)
    j["wires"].push_back(
        {{"a", wire.a}, {"b", wire.b}, {"link", wire.link}, {"bandwidth_bytes_per_s", reports::count(wire.bandwidth.value())}});
  return j;
}

// Adds how the switches of a network are joined: the keys of its kind, as a scenario has them.
void add_switches(Json& j, const topology::Network& n) {
  using topology::NetworkKind;
  if (n.kind == NetworkKind::fat_tree || n.kind == NetworkKind::rail) j["oversubscription"] = n.oversubscription;
  if (n.kind == NetworkKind::fat_tree) {
    j["nodes_per_leaf"] = n.nodes_per_leaf;
    if (n.leaves_per_pod > 0) j["leaves_per_pod"] = n.leaves_per_pod;
    if (n.leaves_per_pod > 0) j["pod_oversubscription"] = n.pod_oversubscription;
  }
  if (n.kind == NetworkKind::dragonfly) {
    j["nodes_per_router"] = n.dragonfly.nodes_per_router;
    j["routers_per_group"] = n.dragonfly.routers_per_group;
    j["local_links"] = n.dragonfly.local_links;
    j["global_links"] = n.dragonfly.global_links;
  }
  if (n.kind == NetworkKind::torus) j["dimensions"] = n.dimensions;
  if (n.kind == NetworkKind::custom) j["switches"] = n.custom.switches.size();
}

}  // namespace

Json cluster_data(const topology::Cluster& cluster) {
  const topology::Drawing d = topology::drawing(cluster);
  Json j{{"name", d.name}, {"nodes", d.nodes}, {"gpus", cluster.device_count()}, {"node_types", Json::array()}};
  for (const auto& node : d.node_types) j["node_types"].push_back(node_json(node));
  if (!d.network.empty()) {
    j["network"] = {{"kind", d.network}, {"link", d.network_link}, {"bandwidth_bytes_per_s", reports::count(d.network_bandwidth.value())}};
    add_switches(j["network"], d.switches);
  }
  return j;
}

}  // namespace reports
