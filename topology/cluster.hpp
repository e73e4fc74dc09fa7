#pragma once
// Start here: Cluster below, which planners and the simulator ask for devices, links and routes. Then
//   load.hpp         load_cluster(): a cluster of a `cluster:` section, a preset or a file
//   description.hpp  ClusterDescription: what a section says, and the readers of its parts
//   routing.hpp      build_cluster() (builder.cpp), best_paths() (paths.cpp): tables of routes per type of node
//   networks/        SwitchNetwork: the switches between nodes; one source for each type of network
//   imports/         import_topology(): what nvidia-smi, NCCL and Slurm say of a machine
//   drawing.hpp      what a picture of a cluster shows
//
// A cluster: devices, directed links and the routes between devices. A value, immutable after loading. Devices are numbered node by
// node, GPUs within a node in order; this is the order that machine mappings use. Units: bytes per second one way, seconds.
//
// A domain is the GPUs that reach each other without the network: those of a node, or of the nodes that one fabric joins (NVL72).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace topology {

// Kinds of routes inside a node, nearest first. Communication libraries choose between routes by what they pass and not by how wide they
// are (NCCL, src/graph/topo.h: NVL before PIX and PXB before PHB before SYS), so a faster PCIe link draws no traffic away from NVLink.
enum class RouteKind : std::uint8_t {
  fabric,      // a wire between the two, or switches that join GPUs alone: NVLink, NVSwitch
  switches,    // other switches: PCIe
  one_socket,  // a CPU
  sockets,     // a wire between CPUs
  gpus,        // through other GPUs: only where nothing else leads there
  network,     // to another node
};

using base::DeviceId;
using base::nth;
using LinkId = base::Id<struct LinkTag>;

struct Link {
  std::string type;                // "nvlink", "xbus", "pcie", "infiniband", "ethernet", or the user's own name
  std::string name;                // "node0:gpu0->gpu1", "leaf2->core"; unique
  base::BytesPerSecond bandwidth;  // one way; of a half-duplex link: both ways together (one Link serves both)
  base::Seconds latency;
  base::BytesPerSecond built;  // the bandwidth that it has without a fault
};

// A GPU as its profile has it but for these: factors of the FLOP/s of all its units and of the bandwidth of its memory, and no
// more power than its operator lets it draw (0: as much as it was made for).
struct DeviceSpeed {
  double compute = 1, memory = 1;
  base::Watts power_limit;
  auto operator<=>(const DeviceSpeed&) const = default;
};

struct Device {
  std::string type;                   // a device profile's name, "v100-sxm2-16gb"
  std::optional<base::Bytes> memory;  // overrides the profile
  int node = 0;
  int index_in_node = 0;
  int domain = 0;
  int index_in_domain = 0;
  DeviceSpeed speed;
  double slowdown = 1;       // the factor of the time of each of its kernels
  double host_slowdown = 1;  // the factor of the time that its host takes to launch one
};

// The properties of a device that decide how long kernels take on it.
struct DeviceKind {
  std::string type;  // a device profile's name
  DeviceSpeed speed;
  double slowdown = 1, host_slowdown = 1;
  auto operator<=>(const DeviceKind&) const = default;
};
[[nodiscard]] DeviceKind kind_of(const Device& device);

// The parts of a node.
enum class VertexKind : std::uint8_t { gpu, cpu, switching, nic };

// The links that one message crosses, in order.
struct Route {
  std::vector<LinkId> links;
  base::BytesPerSecond bandwidth;  // of the narrowest link; infinite without links
  base::Seconds latency;           // sum over the links
  RouteKind kind = RouteKind::fabric;
  base::BytesPerSecond built;  // as bandwidth, without faults
};

// A device's share of the links to its nearest CPU when all devices of the node copy at once.
struct HostLink {
  base::BytesPerSecond to_host, from_host;
  int sharers = 1;  // devices that are nearest to the same CPU
};

struct Drawing;
struct Path;

class Cluster {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  // The network profile that its library follows (profiles/network_profile.hpp); empty: none, wires only.
  [[nodiscard]] const std::string& network_profile() const { return network_profile_; }
  [[nodiscard]] std::span<const Device> devices() const { return devices_; }
  [[nodiscard]] const Device& device(DeviceId d) const { return devices_[d.value]; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  // Whether the figures of a type of link are assumptions of an importer.
  [[nodiscard]] bool is_assumed(const std::string& link_type) const { return assumed_links_.contains(link_type); }
  [[nodiscard]] const Link& link(LinkId l) const { return links_[l.value]; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int device_count() const { return static_cast<int>(devices_.size()); }
  // Returns: the same machines, whose devices have a share of their memory: `memory` is that of each device without one of its own.
  [[nodiscard]] Cluster with_share_of_memory(double share, const std::function<base::Bytes(const Device&)>& memory) const;
  // Returns: the devices of one node, ascending.
  [[nodiscard]] std::span<const DeviceId> node_devices(int node) const { return nth(node_devices_, node); }
  [[nodiscard]] int domains() const { return static_cast<int>(domain_devices_.size()); }
  // Returns: the devices of one domain, ascending.
  [[nodiscard]] std::span<const DeviceId> domain_devices(int domain) const { return nth(domain_devices_, domain); }
  [[nodiscard]] int nics_per_node(int node) const;
  // Returns: the NICs of a device's node that are its own: of those that are equally near its share, at least one. Empty without NICs. They
  // are numbered through the device's domain, node by node.
  [[nodiscard]] std::span<const int> nics_of(DeviceId d) const;
  // Returns: the entry of `node_types:` that a node is of, from 0, or a number of its own if it has a fault. Nodes of one type have the
  // same devices, wires and NICs.
  [[nodiscard]] int node_type(int node) const;
  // Returns: equal numbers for nodes that have the same wires and NICs, whatever part of them faults have left.
  [[nodiscard]] int wiring(int node) const;

  // Returns: nullopt if no CPU of the node can be reached.
  [[nodiscard]] std::optional<HostLink> host_link(DeviceId d) const;

  // Whether a link joins two switches of the network, not a node's parts or a NIC and its switch.
  [[nodiscard]] bool is_between_switches(LinkId l) const;
  // Whether the number of its links identifies a route between nodes: not on a dragonfly, a torus, a custom network or one with a fault.
  [[nodiscard]] bool is_alike_everywhere() const;

  // Returns: within a node the path over its wires that is best by: nearest kind, widest bottleneck, fewest hops, least latency, lowest
  // ids, all as built: a fault moves no traffic unless it leaves nothing. Between nodes of a domain GPU -> fabric -> GPU; between domains
  // GPU -> NIC -> network -> NIC -> GPU, by the first NIC of each device's own; from a device to itself no links, infinite bandwidth and no
  // latency. Cost: O(links of the route); paths within a node come from tables per node type.
  [[nodiscard]] Route route(DeviceId from, DeviceId to) const;
  // Returns: the route out through one NIC and in through the other, as nics_of numbers them.
  // Requires: different domains; NICs of the devices' nodes that have not failed.
  // Throws: base::InternalError otherwise.
  [[nodiscard]] Route route_through_nics(DeviceId from, DeviceId to, int nic_from, int nic_to) const;

  // A switch inside a node, or the fabric of a domain, may reduce and multicast in the network (NVLS): `in_network: true`.
  // Returns: the routes from a device to the first such switch and back; nullopt if it reaches none over the fabric.
  struct SwitchPaths {
    Route up, down;
  };
  [[nodiscard]] std::optional<SwitchPaths> in_network_switch(DeviceId d) const;

 private:
  friend class ClusterBuilder;               // topology/builder.cpp
  friend Drawing drawing(const Cluster& c);  // topology/drawing.hpp
  std::string name_, network_profile_;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::set<std::string> assumed_links_;  // types
  int nodes_ = 0;
  std::vector<std::vector<DeviceId>> node_devices_, domain_devices_;
  struct Routing;
  // Appends a path inside a node.
  void append_path(Route& route, const Path& path, int node) const;
  std::shared_ptr<const Routing> routing_;
};

}  // namespace topology
