#pragma once
// The content of a `network:` section: how the switches between nodes are joined. Not the routes (switch_network.hpp).

#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/ids.hpp"

namespace topology {

using base::nth;

enum class NetworkKind { none, single_switch, fat_tree, rail, dragonfly, torus, custom };

// Groups of routers: every two routers of a group are joined, and every two groups.
struct Dragonfly {
  int nodes_per_router = 1;
  int routers_per_group = 1;
  int local_links = 1;       // between two routers of a group
  int global_links = 1;      // between two groups
  bool spread_nics = false;  // NIC i of a node hangs on router i of as many as a node has NICs, else all on one
};

// Switches by name, and what is joined.
struct CustomNetwork {
  struct Cable {
    int a = 0, b = 0;  // switches
    int link = 0;      // index into the cluster's link types
    int count = 1;
  };
  base::Mark mark;  // of the section
  std::string path;
  std::vector<std::string> switches;
  std::vector<Cable> cables;
  std::vector<std::vector<int>> switch_of_nic;  // per node and NIC
};

struct Network {
  NetworkKind kind = NetworkKind::none;
  int link = 0;                     // index into the cluster's link types
  double oversubscription = 1;      // what enters a leaf (rail) over what may leave it
  int nodes_per_leaf = 16;          // of a fat tree; an assumption where the user does not say
  int leaves_per_pod = 0;           // of a fat tree of three tiers; 0: it has two
  double pod_oversubscription = 1;  // what enters a pod from its leaves over what may leave it
  Dragonfly dragonfly;
  std::vector<int> dimensions;  // of a torus
  CustomNetwork custom;
};

// A link between two switches that has lost some or all of its bandwidth, both ways.
struct NetworkFault {
  std::string a, b;  // names of switches
  double left = 0;
  base::Mark mark;
  std::string path;
};

}  // namespace topology
