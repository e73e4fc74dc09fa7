#pragma once
// Makes a Cluster of a description. Private to this folder.
//
// Links: each wire gives two, one per direction, or one shared by both when half duplex. Network: every NIC has an up and a down link
// of the network's link type. Latency: the up link carries the link type's whole latency and the down link none, so crossing one
// switch costs it once; links between switches are those of topology/networks.
// A half-duplex network has one link per NIC for both directions, which carries the latency each way; links between switches stay full
// duplex.

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
  void add_node(Cluster::Routing& routing, std::size_t number, const NodeType& type, const TypeLayout& layout);
  void add_network(Cluster::Routing& routing);
  [[nodiscard]] const NodeType& type_of(const Cluster::Routing& routing, int node) const;
  [[nodiscard]] std::vector<double> shares_left(const SwitchNetwork& network) const;
  void check_joined(const SwitchNetwork& network, const std::vector<double>& left, const Cluster::Routing& routing) const;
  LinkId add_link(int type, std::string name, double multiple, bool has_latency);

  ClusterDescription description_;
  Cluster cluster_;
};

}  // namespace topology
