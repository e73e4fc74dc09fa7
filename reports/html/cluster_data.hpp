#pragma once
// A cluster in the form that the page draws.

#include <nlohmann/json_fwd.hpp>

#include "topology/cluster.hpp"

namespace reports {

// Returns {"name", "nodes", "gpus", "node_types": [{"count", "gpus", "gpu_type", "parts": [{"name", "kind"}], "wires": [{"a", "b", "link",
// "bandwidth_bytes_per_s"}]}], "network": {"kind", "link", "bandwidth_bytes_per_s"}}: wires join parts by index, bandwidths are one way,
// the network is absent on one node. Equal nodes are there once.
[[nodiscard]] nlohmann::ordered_json cluster_data(const topology::Cluster& cluster);

}  // namespace reports
