#pragma once
// Makes a Cluster of a description. Private to this folder.
//
// Links: each wire gives two, one per direction, or one shared by both when half duplex. Network: every NIC has an up and a down link
// of the network's link type. Latency: the up link carries the link type's whole latency and the down link none, so crossing one
// switch costs it once; crossing a leaf (rail), the core (spine) and another leaf costs it twice, as the leaf's uplink adds the same.
// A half-duplex network has one link per NIC for both directions, which carries the latency each way; uplinks of leaves stay full duplex.
//   switch    one crossbar
//   fat-tree  a leaf per nodes_per_leaf nodes; with several leaves each has an up and a down link of (sum of its NICs) / oversubscription
//             to a core that does not block
//   rail      NIC i of every node on rail i; with several rails each has such a pair to a spine

#include "topology/cluster.hpp"
#include "topology/routing.hpp"

namespace topology {

class ClusterBuilder {
 public:
  explicit ClusterBuilder(ClusterDescription description) : description_(std::move(description)) {}
  // `node_marks`: where to say that a node's wiring leaves GPUs apart, one (mark, path) per node type. Throws: base::InputError.
  [[nodiscard]] Cluster build(const std::vector<std::pair<base::Mark, std::string>>& node_marks) &&;

 private:
  struct TypeLayout {
    std::vector<Link> links;  // name without the node
    std::vector<DirectedEdge> edges;
  };

  [[nodiscard]] TypeLayout lay_out(const NodeType& type) const;
  [[nodiscard]] static NodeTables make_tables(const NodeType& type, const TypeLayout& layout);
  void add_nodes(Cluster::Routing& routing, const std::vector<TypeLayout>& layouts);
  void add_network(Cluster::Routing& routing);
  void add_groups(Cluster::Routing& routing, int groups, const std::string& name, const std::string& above);
  LinkId add_link(std::string name, base::BytesPerSecond bandwidth, base::Seconds latency);

  ClusterDescription description_;
  Cluster cluster_;
};

}  // namespace topology
