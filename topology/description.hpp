#pragma once
// The content of a `cluster:` section, checked but not yet multiplied by its number of nodes: link types, node types, the network.
// Private to this folder.

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"

namespace topology {

struct LinkType {
  std::string name;
  base::BytesPerSecond bandwidth;  // one way
  base::Seconds latency;
  bool half_duplex = false;  // both ways share the bandwidth
};

enum class VertexKind { gpu, cpu, switching, nic };

// A part of a node: GPUs first (gpu0, gpu1, ...), then components in the order written.
struct Vertex {
  std::string name;
  VertexKind kind = VertexKind::cpu;
  bool in_network = false;  // a switch that reduces and multicasts
};

struct Wire {
  int a = 0, b = 0;  // indices into NodeType::vertices
  int link = 0;      // index into ClusterDescription::links
  int count = 1;     // bonded links: they multiply the bandwidth
};

struct NodeType {
  int count = 1;  // nodes of this type
  std::string gpu_type;
  std::optional<base::Bytes> memory;
  int gpus = 0;
  std::vector<Vertex> vertices;
  std::vector<Wire> wires;

  [[nodiscard]] std::vector<int> nics() const;  // their vertices, in order
};

enum class NetworkKind { none, single_switch, fat_tree, rail };

struct Network {
  NetworkKind kind = NetworkKind::none;
  int link = 0;
  double oversubscription = 1;  // what enters a leaf (rail) over what may leave it
  int nodes_per_leaf = 16;      // of a fat tree; an assumption where the user does not say
};

struct ClusterDescription {
  std::string name;
  std::string network_profile;  // empty: none
  std::vector<LinkType> links;
  std::vector<NodeType> node_types;  // nodes are numbered type by type
  Network network;

  [[nodiscard]] int nodes() const;
};

// Returns the content of an expanded section (no preset is left to look up, although its name is still there). `preset_gpus`: GPUs per node
// that the preset has by itself, 0 without one; wires to those of them that an override took away are dropped. Throws: base::InputError
// with every problem found.
[[nodiscard]] ClusterDescription read_description(const base::Yaml& section, const std::string& path, int preset_gpus);

}  // namespace topology
