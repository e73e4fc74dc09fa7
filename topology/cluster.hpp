#pragma once
// A cluster: devices, directed links and the routes between devices. A value, immutable after loading. Devices are numbered node by
// node, GPUs within a node in order; this is the order that machine mappings use. Units: bytes per second one way, seconds.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "topology/route_kind.hpp"

namespace topology {

using base::DeviceId;
using LinkId = base::Id<struct LinkTag>;

struct Link {
  std::string type;                // "nvlink", "xbus", "pcie", "infiniband", "ethernet", or the user's own name
  std::string name;                // "node0:gpu0->gpu1", "leaf2->core"; unique
  base::BytesPerSecond bandwidth;  // one way; of a half-duplex link: both ways together (one Link serves both)
  base::Seconds latency;
};

struct Device {
  std::string type;                   // a device profile's name, "v100-sxm2-16gb"
  std::optional<base::Bytes> memory;  // overrides the profile
  int node = 0;
  int index_in_node = 0;
};

// The links that one message crosses, in order.
struct Route {
  std::vector<LinkId> links;
  base::BytesPerSecond bandwidth;  // of the narrowest link; infinite without links
  base::Seconds latency;           // sum over the links
  RouteKind kind = RouteKind::fabric;
};

class Cluster {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  // The network profile that its library follows (profiles/network_profile.hpp); empty: none, wires only.
  [[nodiscard]] const std::string& network_profile() const { return network_profile_; }
  [[nodiscard]] std::span<const Device> devices() const { return devices_; }
  [[nodiscard]] const Device& device(DeviceId d) const { return devices_[d.value]; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Link& link(LinkId l) const { return links_[l.value]; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int device_count() const { return static_cast<int>(devices_.size()); }
  // Returns the devices of one node, ascending.
  [[nodiscard]] std::span<const DeviceId> node_devices(int node) const { return node_devices_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int nics_per_node(int node) const;
  // Returns the NICs of a device's node that are its own: of those that are equally near its share, at least one. Empty without NICs.
  [[nodiscard]] std::span<const int> nics_of(DeviceId d) const;
  // Returns the entry of `node_types:` that a node is of, from 0. Nodes of one type have the same devices, wires and NICs.
  [[nodiscard]] int node_type(int node) const;

  // Returns: within a node the path over its wires that is best by: nearest kind, widest bottleneck, fewest hops, least latency, lowest
  // ids; between nodes GPU -> NIC -> network -> NIC -> GPU, by the first NIC of each device's own; from a device to itself no links,
  // infinite bandwidth and no latency.
  // Cost: O(links of the route); paths within a node come from tables per node type.
  [[nodiscard]] Route route(DeviceId from, DeviceId to) const;
  // Returns the route out through one NIC and in through the other.
  // Requires: different nodes; 0 <= nic < nics_per_node. Throws: base::InternalError otherwise.
  [[nodiscard]] Route route_through_nics(DeviceId from, DeviceId to, int nic_from, int nic_to) const;

  // A switch inside a node may reduce and multicast in the network (NVLS): `in_network: true` on the component.
  // Returns: the routes from a device to the first such switch of its node and back; nullopt if it reaches none.
  struct SwitchPaths {
    Route up, down;
  };
  [[nodiscard]] std::optional<SwitchPaths> in_network_switch(DeviceId d) const;

 private:
  friend class ClusterBuilder;                  // topology/builder.hpp
  friend std::string to_dot(const Cluster& c);  // topology/dot.hpp
  std::string name_, network_profile_;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  int nodes_ = 0;
  std::vector<std::vector<DeviceId>> node_devices_;
  struct Routing;
  std::shared_ptr<const Routing> routing_;
};

}  // namespace topology
