#include "topology/networks/switch_network.hpp"

#include "base/check.hpp"

namespace topology {

std::unique_ptr<SwitchNetwork> make_network(const Network& network, const NicCounts& nics) {
  switch (network.kind) {
    case NetworkKind::none: break;
    case NetworkKind::single_switch:
    case NetworkKind::fat_tree:
    case NetworkKind::rail: return make_tree(network, nics);
    case NetworkKind::dragonfly: return make_dragonfly(network, nics);
    case NetworkKind::torus: return make_torus(network);
    case NetworkKind::custom: return make_custom(network);
  }
  base::fail_check(__FILE__, __LINE__, "a kind of network", "none joins no nodes");
}

}  // namespace topology
