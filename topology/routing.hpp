#pragma once
// How a Cluster finds routes: tables per node type, and a few numbers per node. Private to this folder.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/description.hpp"
#include "topology/networks/switch_network.hpp"

namespace topology {

// One direction of a wire; a half-duplex wire gives two of them with one link.
struct DirectedEdge {
  int from = 0, to = 0;  // vertices
  int link = 0;          // of the node, from 0
  double bandwidth = 0;  // bytes per second, as built
  double latency = 0;    // seconds
};

struct Path {
  std::vector<int> links;  // of the node, in order
  double bandwidth = 0;    // of the narrowest, as built; infinite for an empty path
  double latency = 0;      // sum
  bool found = false;
  RouteKind kind = RouteKind::fabric;
};

// Best: nearest kind (RouteKind), then widest bottleneck, fewest hops, least latency, lowest link ids. A GPU does not forward for others:
// peer-to-peer copies and NCCL's channels between GPUs without a common link go over PCIe and the CPUs (NCCL does not relay P2P through a
// GPU by default), so GPUs are intermediates only where no other path leads there. NICs never are.
// Returns: the best path from `source` to every vertex, one entry per vertex.
// Cost: O(kinds x V^2 E log V) at worst, V and E those of one node.
[[nodiscard]] std::vector<Path> best_paths(std::span<const Vertex> vertices, std::span<const DirectedEdge> edges, int source);

// The paths inside a node of one type; links are numbered from the node's first link.
struct NodeTables {
  int gpus = 0;
  int nics = 0;
  std::vector<bool> failed_nics;   // [nic]
  std::vector<Path> between_gpus;  // [from * gpus + to]
  std::vector<Path> to_nic;        // [gpu * nics + nic]
  std::vector<Path> from_nic;      // [gpu * nics + nic]
  // The NICs by which a GPU's traffic leaves and enters; and the same numbered through a domain: [place in the domain * gpus + gpu].
  std::vector<std::vector<int>> nics_of_gpu, nics_in_domain;
  std::vector<Path> to_fabric;  // [gpu]; empty where the node is a domain of its own
  std::vector<Path> from_fabric;
  std::vector<std::optional<HostLink>> to_host;  // [gpu], its share of the path to the nearest CPU
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

  [[nodiscard]] const NodeTables& tables_of(int node) const { return nth(tables, nth(type_of_node, node)); }
  // Returns: the number of a NIC within its node.
  // Requires: one of the node's own that has not failed.
  // Throws: base::InternalError otherwise.
  [[nodiscard]] int nic_of_node(int node, int nic_of_domain) const;
};

// Returns: the cluster of a description (builder.cpp).
// Throws: base::InputError.
[[nodiscard]] Cluster build_cluster(ClusterDescription description);

}  // namespace topology
