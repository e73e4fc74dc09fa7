#pragma once
// How a Cluster finds routes: tables per node type, and a few numbers per node. Private to this folder.

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/description.hpp"
#include "topology/paths.hpp"

namespace topology {

// The paths inside a node of one type; links are numbered from the node's first link.
struct NodeTables {
  int gpus = 0;
  int nics = 0;
  std::vector<Path> between_gpus;  // [from * gpus + to]
  std::vector<Path> to_nic;        // [gpu * nics + nic]
  std::vector<Path> from_nic;      // [gpu * nics + nic]
  // Those that a GPU's traffic leaves and enters by.
  std::vector<std::vector<int>> nics_of_gpu;
  std::vector<Path> to_switch;  // [gpu], the in-network switch; empty without one
  std::vector<Path> from_switch;
};

struct Cluster::Routing {
  // The two links that join a NIC to the network, or a leaf or a rail to what is above it.
  struct Uplink {
    LinkId up, down;
  };

  ClusterDescription description;
  std::vector<NodeTables> tables;         // per node type
  std::vector<int> type_of_node;          // index into tables
  std::vector<std::uint32_t> first_link;  // per node: its links are contiguous
  std::vector<std::vector<Uplink>> nics;  // per node and NIC; empty on a single node
  std::vector<Uplink> groups;             // per leaf (fat tree) or rail, when there are several; else empty

  [[nodiscard]] const NodeTables& tables_of(int node) const {
    return tables[static_cast<std::size_t>(type_of_node[static_cast<std::size_t>(node)])];
  }
  // Returns the leaf or rail that a NIC hangs on.
  [[nodiscard]] int group_of(int node, int nic) const;
};

}  // namespace topology
