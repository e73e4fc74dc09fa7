#pragma once
// The parts of a picture of a cluster: one node of each type with its parts and wires, and how the nodes are joined.

#include <string>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/networks/network.hpp"

namespace topology {

[[nodiscard]] std::string_view to_text(VertexKind kind);  // "gpu", "cpu", "switch", "nic"

struct Drawing {
  struct Part {
    std::string name;  // "gpu0", "nic1"; unique in a node
    VertexKind kind = VertexKind::gpu;
  };
  struct Wire {
    int a = 0, b = 0;                // indices into Node::parts
    std::string link;                // "nvlink"
    base::BytesPerSecond bandwidth;  // one way, of all bonded links together
  };
  struct Node {
    int count = 1;  // nodes of this type
    int gpus = 0;
    std::string gpu_type;  // a profile's name, or its file's without folders
    std::vector<Part> parts;
    std::vector<Wire> wires;
  };
  std::string name;
  int nodes = 0;
  std::vector<Node> node_types;
  // The network that joins the nodes; empty and 0 on a single node.
  std::string network, network_link;       // "fat tree", "infiniband"
  base::BytesPerSecond network_bandwidth;  // of a NIC, one way
  Network switches;                        // how they are joined; of kind none on a single node
};

// Faults are not drawn.
// Cost: O(parts and wires of one node of each type).
[[nodiscard]] Drawing drawing(const Cluster& c);

// Returns: the drawing as DOT text.
[[nodiscard]] std::string to_dot(const Cluster& c);

}  // namespace topology
