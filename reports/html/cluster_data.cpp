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

}  // namespace

Json cluster_data(const topology::Cluster& cluster) {
  const topology::Drawing d = topology::drawing(cluster);
  Json j{{"name", d.name}, {"nodes", d.nodes}, {"gpus", cluster.device_count()}, {"node_types", Json::array()}};
  for (const auto& node : d.node_types) j["node_types"].push_back(node_json(node));
  if (!d.network.empty())
    j["network"] = {{"kind", d.network}, {"link", d.network_link}, {"bandwidth_bytes_per_s", reports::count(d.network_bandwidth.value())}};
  return j;
}

}  // namespace reports
