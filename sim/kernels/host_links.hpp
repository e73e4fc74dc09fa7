#pragma once
// The cost of tensors in the memory of the hosts: copies over the links to the nearest CPU, and what CPUs do with optimizer
// states. All GPUs of a node copy at once, so each has its share of the links that they have in common; what else is on these links,
// messages to other nodes, is left out of account. Internal to sim.

#include <vector>

#include "base/units.hpp"
#include "topology/cluster.hpp"

namespace sim {

// Recalled, not re-checked: ZeRO-Offload (Ren et al., arXiv 2101.06840, table 4) gives its Adam 0.22 s for a billion parameters on the two
// CPUs of a DGX-2. PyTorch's own is slower: Megatron-Bridge's notes have a step of Llama 70B on 32 H100 4.2 times as long with all of it on
// the hosts.
inline constexpr base::Seconds kHostUpdate(0.44e-9);  // of a parameter, by one CPU

class HostLinks {
 public:
  // `kinds`: those of the devices in use. Throws: base::InputError when one of these kinds has no way to a CPU.
  // Cost: O(devices of the cluster x kinds).
  HostLinks(const topology::Cluster& cluster, const std::vector<topology::DeviceKind>& kinds);

  // Per kind, by its slowest device.
  [[nodiscard]] std::vector<base::Seconds> to_host(base::Bytes bytes) const;
  [[nodiscard]] std::vector<base::Seconds> from_host(base::Bytes bytes) const;
  // The update of `parameters` parameters of each device, whose CPU updates those of the others that are nearest to it, too.
  [[nodiscard]] std::vector<base::Seconds> update(double parameters) const;

 private:
  std::vector<topology::HostLink> links_;  // per kind
};

}  // namespace sim
