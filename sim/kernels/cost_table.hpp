#pragma once
// The cost of the work of a plan's nodes, on every type of device that the plan uses: the one place where the simulator and the
// planners' estimates get the times of kernels from. Movements get theirs from sim/collectives. Start here:
//   cost_table.hpp         CostTable: the Cost of each pass of a node; HostLinks: copies to hosts
//   node_kernels.hpp       NodeShape; forward_kernels(), input_gradient_kernels(), weight_gradient_kernels() and casts
//   optimizer_kernels.hpp  optimizer_kernel(): the update
//   kernel_cost.hpp        kernel_cost(): the time of one kernel in training

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "sim/kernels/kernel_cost.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/kernels/optimizer_kernels.hpp"
#include "sim/results/timed_kernel.hpp"
#include "topology/cluster.hpp"

namespace sim {

// The cost of tensors in the memory of the hosts: copies over the links to the nearest CPU, and what CPUs do with optimizer
// states. All GPUs of a node copy at once, so each has its share of the links that they have in common; what else is on these links,
// messages to other nodes, is left out of account. Internal to sim.
// Recalled, not re-checked: ZeRO-Offload (Ren et al., arXiv 2101.06840, table 4) gives its Adam 0.22 s for a billion parameters on the two
// CPUs of a DGX-2. PyTorch's own is slower: Megatron-Bridge's notes have a step of Llama 70B on 32 H100 4.2 times as long with all of it on
// the hosts.
inline constexpr base::Seconds kHostUpdate(0.44e-9);  // of a parameter, by one CPU

class HostLinks {
 public:
  // `kinds`: those of the devices in use.
  // Throws: base::InputError when one of these kinds has no way to a CPU.
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

// The cost of kernels that a device runs one after another.
struct Cost {
  struct OnType {
    base::Seconds device;                         // the kernels run
    profiles::ByBasis<base::Seconds> by_basis;    // the same by its basis
    base::Seconds host;                           // the host launches them
    std::shared_ptr<const TimedKernels> kernels;  // which they are
  };
  std::uint32_t number = 0;  // dense, in the order in which the list was asked
  std::size_t kernels = 0;
  std::vector<OnType> on_type;  // one per device type in use
  [[nodiscard]] bool empty() const { return kernels == 0; }
};

// Remembers what it was asked: nodes of equal shape are costed once (adding up and buffering their gradients, node by node). The same list
// serves all variants of a plan that differ in recomputation and ZeRO stage alone. Not for several threads at once.
class CostTable {
 public:
  // Plan, flow, cluster and framework outlive the list.
  // Throws: base::InputError when a device in use cannot train in the plan's precision.
  CostTable(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework);

  // Kinds of the devices in use, ascending: costs are in this order. Devices of one profile differ where one is slow.
  [[nodiscard]] const std::vector<topology::DeviceKind>& device_types() const { return device_types_; }
  // Host time to launch a collective or a message, per device type in use.
  [[nodiscard]] std::vector<base::Seconds> collective_launch() const;

  // The cost of a node that computes; `node` numbers the nodes of the plan's PCG.
  [[nodiscard]] const Cost& forward(std::uint32_t node);
  [[nodiscard]] const Cost& input_gradient(std::uint32_t node);
  [[nodiscard]] const Cost& weight_gradient(std::uint32_t node);
  [[nodiscard]] const Cost& weight_cast(std::uint32_t node);
  [[nodiscard]] const Cost& accumulation(std::uint32_t node);
  [[nodiscard]] const Cost& gradient_buffer(std::uint32_t node);
  // Out of what was gathered, and into what is reduced, of the node's weights. The host launches them once for a whole unit: no time.
  [[nodiscard]] const Cost& weight_copy(std::uint32_t node);
  [[nodiscard]] const Cost& gradient_copy(std::uint32_t node);
  // The update of `parameters` parameters of one device by this optimizer, and what Muon does to matrices besides.
  [[nodiscard]] const Cost& optimizer(pcg::Optimizer by, double parameters);
  [[nodiscard]] const Cost& orthogonalisation(const Matrices& matrices);
  // The norm of the gradients of `parameters` parameters of one device.
  [[nodiscard]] const Cost& gradient_norm(double parameters);

  // The links to the hosts' memory.
  // Requires: the plan offloads something.
  [[nodiscard]] const HostLinks& hosts() const { return *hosts_; }

  // The kinds of the kernels costed so far, by the basis of their times.
  [[nodiscard]] const profiles::ByBasis<std::set<pcg::KernelKind>>& kinds() const { return kinds_; }
  // GPU generations, ascending, and the shares of their benchmark rate that products costed so far keep there by assumption.
  [[nodiscard]] const std::set<std::pair<std::string, double>>& assumed_shares() const { return assumed_shares_; }
  // Types of GPUs that are held to a power, by the name or file of their profile, with that power, ascending.
  [[nodiscard]] const std::set<std::pair<std::string, base::Watts>>& limits() const { return limits_; }

 private:
  struct Shape {
    NodeShape shape;
    std::optional<Cost> forward, input_gradient, weight_gradient;
  };
  struct Node {
    Shape* shape = nullptr;
    std::optional<Cost> accumulation, gradient_buffer, weight_cast, weight_copy, gradient_copy;
  };
  // The host's time for some kernels: for each beyond the device's own launch overhead, and all of them together.
  struct HostTime {
    base::Seconds per_kernel, once;
    bool launches = true;  // false: a CUDA graph has them
  };
  static constexpr HostTime kNoLaunch{base::Seconds(0), base::Seconds(0), false};
  [[nodiscard]] HostTime host_of(const NodeShape& shape, base::Seconds per_kernel) const;
  Cost cost(const std::vector<pcg::Kernel>& kernels, base::Seconds per_kernel) {
    return cost(kernels, {per_kernel, base::Seconds(0)}, plan_.training.precision);
  }
  Cost cost(const std::vector<pcg::Kernel>& kernels, const HostTime& host, pcg::Precision precision);
  // That of a node's products, and of attention.
  [[nodiscard]] pcg::Precision precision_of(const NodeShape& shape) const {
    const bool is_low = shape.casts.low || (plan_.training.fp8_attention && std::holds_alternative<pcg::Attention>(shape.op));
    const bool is_high = pcg::casts_products(plan_.training.precision) && !is_low;
    return is_high ? pcg::Precision::bf16 : plan_.training.precision;
  }
  Shape& shape_of(std::uint32_t node);
  using KernelsOf = std::vector<pcg::Kernel>(const NodeShape&, const pcg::TrainingConfig&, const profiles::FrameworkProfile&);
  const Cost& of_pass(std::uint32_t node, std::optional<Cost> Shape::*pass, KernelsOf& kernels, base::Seconds per_kernel);

  const pcg::Plan& plan_;
  const FlowGraph& flow_;
  const profiles::FrameworkProfile& framework_;
  std::vector<topology::DeviceKind> device_types_;
  std::vector<const profiles::DeviceProfile*> profiles_;  // per device type
  std::deque<profiles::DeviceProfile> scaled_;            // of types that are faster or slower than their profile
  bool copies_columns_ = false;                           // some device in use reads fp8 along rows alone
  std::optional<HostLinks> hosts_;
  std::deque<Shape> shapes_;                                     // distinct; stay where they are
  std::vector<Node> nodes_;                                      // per node of the PCG
  std::map<std::pair<pcg::Optimizer, double>, Cost> optimizer_;  // by parameters
  std::map<Matrices, Cost> orthogonalisation_;
  std::map<double, Cost> gradient_norm_;  // by parameters
  std::uint32_t costs_ = 0;               // so far
  profiles::ByBasis<std::set<pcg::KernelKind>> kinds_;
  std::set<std::pair<std::string, double>> assumed_shares_;
  std::set<std::pair<std::string, base::Watts>> limits_;
};

}  // namespace sim
