#include "topology/routing.hpp"

#include "base/check.hpp"

namespace topology {

int Cluster::Routing::nic_of_node(int node, int nic_of_domain) const {
  const NodeTables& own = tables_of(node);
  const int nic = nic_of_domain - place_in_domain[static_cast<std::size_t>(node)] * own.nics;
  BASE_CHECK(nic >= 0 && nic < own.nics && !own.failed_nics[static_cast<std::size_t>(nic)], "NIC {} of node {}", nic, node);
  return nic;
}

}  // namespace topology
