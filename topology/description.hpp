#pragma once
// The content of a `cluster:` section, checked but not yet multiplied by its number of nodes: link types, node types, the network.
// Private to this folder.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/units.hpp"
#include "base/yaml/reader.hpp"
#include "base/yaml/tree.hpp"
#include "topology/cluster.hpp"
#include "topology/networks/network.hpp"

namespace topology {

struct LinkType {
  std::string name;
  base::BytesPerSecond bandwidth;  // one way
  base::Seconds latency;
  bool half_duplex = false;  // both ways share the bandwidth
  bool assumed = false;      // an importer took the figures from what is usual
};

// A part of a node: GPUs first (gpu0, gpu1, ...), then components in the order written.
struct Vertex {
  std::string name;
  VertexKind kind = VertexKind::cpu;
  bool in_network = false;  // a switch that reduces and multicasts
  double left = 1;          // of a NIC: the share of its link to the network that has not failed
};

struct Wire {
  int a = 0, b = 0;  // indices into NodeType::vertices
  int link = 0;      // index into ClusterDescription::links
  int count = 1;     // bonded links: they multiply the bandwidth
  double left = 1;   // the share of them that has not failed
};

// A fabric that joins the GPUs of several nodes: every GPU has a wire to its switches, which are one vertex of the node, "fabric".
struct Domain {
  int nodes = 1;    // that one fabric joins
  int segment = 1;  // nodes that a job takes of a fabric at once: as many whole segments as fit
  [[nodiscard]] int used() const { return nodes / segment * segment; }
};

// How many times as long as without a fault.
struct Slowdown {
  double gpu = 1;   // each of its kernels takes
  double host = 1;  // its host takes to launch one
};

struct NodeType {
  int count = 1;  // nodes of this type
  std::string gpu_type;
  std::optional<base::Bytes> memory;
  DeviceSpeed speed;
  double host_speed = 1;    // the factor of the speed at which its hosts launch
  bool peer_access = true;  // GPUs reach each other's memory over PCIe
  int gpus = 0;
  std::vector<Vertex> vertices;
  std::vector<Wire> wires;
  std::optional<Domain> domain;
  std::vector<Slowdown> slowdown;  // per GPU; empty: none
  base::Mark mark;                 // of its number of GPUs, which beside a preset is what left some without wires; of a fault
  std::string path;                // of the node, or the fault

  [[nodiscard]] std::vector<int> nics() const;  // their vertices, in order
  [[nodiscard]] int fabric() const;             // its vertex; -1 without a domain
  [[nodiscard]] bool has_lost_any() const;      // wires or NICs, of which faults leave nothing
};

// A node that faults have made different from its type.
struct FaultyNode {
  int node = 0;
  NodeType type;
};

struct ClusterDescription {
  std::string name;
  std::string network_profile;  // empty: none
  std::vector<LinkType> links;
  std::vector<NodeType> node_types;  // nodes are numbered type by type
  Network network;
  std::vector<FaultyNode> faulty;            // ascending by node
  std::vector<NetworkFault> network_faults;  // of links between switches

  [[nodiscard]] int nodes() const;
  [[nodiscard]] int domains() const;
  // Returns: the type of a node as `node_types:` has it, without its faults.
  // Requires: 0 <= node < nodes().
  [[nodiscard]] int type_of(int node) const;
};

// Returns: the content of an expanded section (no preset is left to look up, although its name is still there). `preset_gpus`: GPUs per
// node that the preset has by itself, 0 without one; wires to those of them that an override took away are dropped.
// Throws: base::InputError with every problem found.
[[nodiscard]] ClusterDescription read_description(const base::Yaml& section, const std::string& path, int preset_gpus);

// Adds the faults to a cluster that is sound without them: nodes that differ from their type to `faulty`, links between switches to
// `network_faults`. Problems go to `sink`.
void read_faults(const base::Yaml& list, const std::string& path, ClusterDescription& cluster, base::Diagnostics& sink);

// Returns: the network. `cluster`: with its link types and node types. Problems go to `sink`.
[[nodiscard]] Network read_network(const base::Yaml& section, const std::string& path, const ClusterDescription& cluster,
                                   base::Diagnostics& sink);

// Removes the keys that a network of this type has not: those that a preset or a scenario has for the type before.
void drop_keys_of_other_types(base::Yaml& network, std::string_view type);

// Calls read(item, its path) for each item of a list. What is no list is reported, with "expected WHAT" and the hint.
void read_each(const base::Yaml& list, const std::string& path, base::Diagnostics& sink, std::string_view what, const std::string& hint,
               const std::function<void(const base::Yaml&, const std::string&)>& read);

// Returns: the names of parts or links, of which messages suggest one.
template <class Named>
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

inline constexpr int kMaxNodes = 100'000;  // more than any cluster has: a slip of the pen is found before memory fills

// Returns: the index of the link type named at `key`.
// Returns: nullopt when the key is absent or wrong, and reports a wrong one.
[[nodiscard]] std::optional<int> read_link_name(base::MapReader& map, std::string_view key, const std::vector<LinkType>& links);

// Returns: a node type. `count`: nodes of this type, where the node itself does not say. `preset_gpus`: as in read_description. Problems go
// to `sink`.
[[nodiscard]] NodeType read_node_type(const base::Yaml& node, const std::string& path, std::optional<int> count,
                                      const std::vector<LinkType>& links, int preset_gpus, base::Diagnostics& sink);

}  // namespace topology
