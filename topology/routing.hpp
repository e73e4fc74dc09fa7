#pragma once
// How a Cluster finds routes: tables per node type, and a few numbers per node. Private to this folder.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/description.hpp"
#include "topology/networks/switch_network.hpp"
#include "topology/paths.hpp"

namespace topology {

// The paths inside a node of one type; links are numbered from the node's first link.
struct NodeTables {
  int gpus = 0;
  int nics = 0;
  std::vector<bool> failed_nics;   // [nic]
  std::vector<Path> between_gpus;  // [from * gpus + to]
  std::vector<Path> to_nic;        // [gpu * nics + nic]
  std::vector<Path> from_nic;      // [gpu * nics + nic]
  // Those that a GPU's traffic leaves and enters by; and the same numbered through a domain: [place in the domain * gpus + gpu].
  std::vector<std::vector<int>> nics_of_gpu, nics_in_domain;
  std::vector<Path> to_fabric;  // [gpu]; empty where the node is a domain of its own
  std::vector<Path> from_fabric;
  std::vector<std::optional<HostLink>> to_host;  // [gpu], its share of the way to the nearest CPU
  std::vector<Path> to_switch;                   // [gpu], the in-network switch; empty without one
  std::vector<Path> from_switch;
};

struct Cluster::Routing {
  // The two links that join a NIC to the network.
  struct Uplink {
    LinkId up, down;
  };

  ClusterDescription description;
  std::vector<NodeTables> tables;                // per node type
  std::vector<int> type_of_node;                 // index into tables
  std::vector<std::uint32_t> first_link;         // per node: its links are contiguous
  std::vector<std::vector<Uplink>> nics;         // per node and NIC; empty on a single node
  std::vector<int> place_in_domain;              // per node, from 0
  std::shared_ptr<const SwitchNetwork> network;  // null on a single node
  std::uint32_t first_network_link = 0;          // its links are contiguous, in its order

  [[nodiscard]] const NodeTables& tables_of(int node) const {
    return tables[static_cast<std::size_t>(type_of_node[static_cast<std::size_t>(node)])];
  }
  // Returns the number of a NIC within its node. Requires: one of the node's own that has not failed. Throws: base::InternalError
  // otherwise.
  [[nodiscard]] int nic_of_node(int node, int nic_of_domain) const;
};

}  // namespace topology
