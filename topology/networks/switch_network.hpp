#pragma once
// The switches between nodes, the links between them and the routes through them. It knows nodes and NICs by number and links by index;
// what a link carries is in multiples of its type's bandwidth.
//
// Links by kind (multiples of the bandwidth of `network.link` unless a type is named); each goes in one direction, and another one back:
//   switch     none
//   fat-tree   leaf -> core: NICs of the leaf / oversubscription; with pods leaf -> pod, and pod -> core: what its leaves send up /
//              pod_oversubscription. None from a single leaf or pod
//   rail       rail -> spine: NICs of the rail / oversubscription; none from a single rail
//   dragonfly  router -> router: local_links within a group; global_links single ones between two groups
//   torus      place -> next place in each dimension, both ways; a dimension of two places has one such pair
//   custom     as written
// Latency: a link of a tree has its type's upwards and none downwards, all others have theirs in each direction.
//
// Routes: shortest ones. A tree is climbed no higher than needed. A dragonfly's message goes to the router that has the link to the other
// group, over it and on to its router; of several such links it takes number (from + to) modulo their count. A torus is crossed dimension
// by dimension, in the shorter direction, forwards where both are as long. In a custom network a switch with several next ones on shortest
// routes takes number (destination's node + NIC) modulo their count, and every further one divides first by the counts before (the digits
// by which InfiniBand's fat-tree routing spreads destinations).

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/networks/network.hpp"

namespace topology {

struct SwitchLink {
  int from = 0, to = 0;     // switches
  int type = 0;             // index into the cluster's link types
  double multiple = 1;      // of the type's bandwidth
  bool has_latency = true;  // its type's
  double left = 1;          // the share that faults leave of a link that carries anything
};

class SwitchNetwork {
 public:
  virtual ~SwitchNetwork() = default;
  // Returns: the switch that a NIC hangs on.
  [[nodiscard]] virtual int switch_of(int node, int nic) const = 0;
  [[nodiscard]] virtual std::string name_of(int network_switch) const = 0;
  [[nodiscard]] std::span<const SwitchLink> links() const { return links_; }
  // Returns: the links of the route, in order: none from a switch to itself. `spread`: node + NIC of the destination.
  [[nodiscard]] virtual std::vector<int> route(int from, int to, int spread) const = 0;

 protected:
  explicit SwitchNetwork(std::vector<SwitchLink> links = {}) : links_(std::move(links)) {}
  std::vector<SwitchLink> links_;
};

// NICs of every node by number.
using NicCounts = std::vector<int>;

// Requires: a kind that is not `none`; what the reader of clusters checks.
[[nodiscard]] std::unique_ptr<SwitchNetwork> make_network(const Network& network, const NicCounts& nics);

// One for each kind, each in the source of its name.
[[nodiscard]] std::unique_ptr<SwitchNetwork> make_tree(const Network& network, const NicCounts& nics);  // switch, fat-tree and rail
[[nodiscard]] std::unique_ptr<SwitchNetwork> make_dragonfly(const Network& network, const NicCounts& nics);
[[nodiscard]] std::unique_ptr<SwitchNetwork> make_torus(const Network& network);
[[nodiscard]] std::unique_ptr<SwitchNetwork> make_custom(const Network& network);

// Returns: the same network without the links that carry nothing any more and with the others narrowed. Routes that crossed one that is
// gone are shortest among what is left, the lowest numbers first. `left`: the share of each link that is left, per link.
[[nodiscard]] std::unique_ptr<SwitchNetwork> with_faults(std::unique_ptr<SwitchNetwork> network, const std::vector<double>& left);

// Returns: two of `ends` between which no route is left, or nullopt.
// Cost: O(links).
[[nodiscard]] std::optional<std::pair<int, int>> unreached(const SwitchNetwork& network, const std::vector<double>& left,
                                                           const std::set<int>& ends);

// The links that leave each switch. Private to this folder.
class SwitchGraph {
 public:
  static constexpr int kUnreached = -1;

  // `left`: per link, 0 where it is gone; empty: all are there.
  // Requires: the links outlive it.
  SwitchGraph(int switches, std::span<const SwitchLink> links, const std::vector<double>& left);
  SwitchGraph(const SwitchGraph&) = delete;
  SwitchGraph& operator=(const SwitchGraph&) = delete;

  [[nodiscard]] int switches() const { return static_cast<int>(leaving_.size()); }
  // Returns: the number of links on a shortest route from every switch to one, or kUnreached.
  // Cost: O(links).
  [[nodiscard]] std::vector<int> distances_to(int to) const;
  // Returns: the links of a shortest route. Where n links lead nearer, it takes number spread % n of them and goes on with spread / n.
  // Requires: the distances to `to`, which `from` reaches.
  [[nodiscard]] std::vector<int> route(int from, int to, const std::vector<int>& distances, int spread) const;

 private:
  std::span<const SwitchLink> links_;
  std::vector<std::vector<int>> leaving_, entering_;  // per switch, ascending
};

}  // namespace topology
