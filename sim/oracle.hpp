#pragma once
// What planners ask: seconds of a kernel, of a collective, of a whole plan, and bytes of memory. Planners rank with the first kinds and
// confirm their best few with the last. Answers are remembered: collectives per (kind, algorithm, group pattern), affine in bytes.

#include <map>
#include <memory>
#include <span>

#include "sim/simulation.hpp"

namespace sim {

class Oracle {
 public:
  explicit Oracle(const topology::Cluster& cluster, SimulationConfig config = {});
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  [[nodiscard]] const topology::Cluster& cluster() const;
  [[nodiscard]] const profiles::DeviceProfile& device(base::DeviceId d) const;
  [[nodiscard]] base::Seconds kernel(const pcg::Kernel& k, pcg::Precision p, base::DeviceId d) const;
  // A collective alone on the cluster, from small engine runs at two sizes per (kind, group pattern): latency + bytes / bandwidth.
  [[nodiscard]] base::Seconds collective(CollectiveKind kind, base::Bytes bytes, std::span<const base::DeviceId> group) const;
  // Several groups doing the same at once (all data-parallel groups of a stage): what they cost each other is included.
  [[nodiscard]] base::Seconds collectives(CollectiveKind kind, base::Bytes bytes, std::span<const std::vector<base::DeviceId>> groups) const;
  [[nodiscard]] SimulationResult plan(const pcg::Plan& p) const;
  [[nodiscard]] MemoryUse memory(const pcg::Plan& p) const;  // without simulating

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sim
