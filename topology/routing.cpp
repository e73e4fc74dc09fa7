#include "topology/routing.hpp"

namespace topology {

// Rails join NICs of one number, leaves join neighbouring nodes.
int Cluster::Routing::group_of(int node, int nic) const {
  return description.network.kind == NetworkKind::rail ? nic : node / description.network.nodes_per_leaf;
}

}  // namespace topology
