#pragma once
// What planners ask: seconds of a kernel, of a collective, of a whole plan, and bytes of memory. Planners rank with the first kinds and
// confirm their best few with the last. Answers are remembered: collectives per (kind, algorithm, group pattern), affine in bytes.
// Deterministic; not for several threads at once, as SimGrid is not.

#include <memory>
#include <span>
#include <vector>

#include "profiles/device_profile.hpp"
#include "sim/simulation.hpp"

namespace sim {

class Oracle {
 public:
  // The cluster must outlive the oracle. Throws: base::InputError when a device of it has no profile.
  explicit Oracle(const topology::Cluster& cluster, SimulationConfig config = {});
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  [[nodiscard]] const topology::Cluster& cluster() const;
  // The profile of the device's type, with the cluster's own memory size where it gives one.
  [[nodiscard]] const profiles::DeviceProfile& device(base::DeviceId d) const;
  [[nodiscard]] base::Seconds kernel(const pcg::Kernel& k, pcg::Precision p, base::DeviceId d) const;
  // A collective alone on the cluster: the quickest algorithm's latency + bytes / bandwidth, which come from a small engine run per (kind,
  // algorithm, group pattern). Exact, as flows take time in proportion to their size. A pattern is where the group's devices are in
  // their nodes and how the nodes hang together, so that all data-parallel groups of a stage share one.
  [[nodiscard]] base::Seconds collective(CollectiveKind kind, base::Bytes bytes, std::span<const base::DeviceId> group) const;
  // Several groups doing the same at once (all data-parallel groups of a stage): what they cost each other is included.
  [[nodiscard]] base::Seconds collectives(CollectiveKind kind, base::Bytes bytes,
                                          std::span<const std::vector<base::DeviceId>> groups) const;
  [[nodiscard]] SimulationResult plan(const pcg::Plan& p) const;
  [[nodiscard]] MemoryUse memory(const pcg::Plan& p) const;  // without simulating

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sim
