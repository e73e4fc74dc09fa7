#pragma once
// The oracle that planners ask: seconds of a collective and of a whole plan, and bytes of memory. Planners rank with the first, beside the
// seconds of kernels (sim/kernels), and confirm their best few with the others. Answers are remembered: collectives per (kind, algorithm,
// group pattern), affine in bytes. Deterministic; not for several threads at once, as SimGrid is not.

#include <memory>
#include <span>
#include <vector>

#include "profiles/device_profile.hpp"
#include "sim/dataflow/movement.hpp"
#include "sim/simulation.hpp"

namespace sim {

// simulated: the engine ran the flows. bound: from the busiest links alone; of one collective a lower bound, exact where all flows of a
// phase end together; of several at once an estimate, as each phase counts the longest latency and the busiest link of all of them.
enum class TimeBasis { simulated, bound };

struct CollectiveTime {
  base::Seconds time;
  TimeBasis basis = TimeBasis::simulated;
};

// Seconds of a collective by one algorithm: a line over its bytes.
struct CostLine {
  base::Seconds latency;
  double seconds_per_byte = 0;
  TimeBasis basis = TimeBasis::bound;
  [[nodiscard]] base::Seconds at(base::Bytes b) const { return latency + base::Seconds(seconds_per_byte * b.value()); }
};

// Seconds of the transfers of a round, whatever their size.
struct RoundCost {
  // Transfers of a kind and size, by the algorithms that may be the quickest; never empty.
  struct Part {
    base::Bytes bytes;
    std::vector<CostLine> lines;
  };
  std::vector<Part> parts;
  // Every transfer moves `factor` times its bytes, by the algorithm that is the quickest for these. The slowest part counts.
  [[nodiscard]] CollectiveTime at(double factor = 1) const;
};

class Oracle {
 public:
  // Collectives of more flows are not run, but bounded: with 0 all of them, which is quicker where patterns are many.
  static constexpr std::size_t kMostFlows = 20000;
  // The cluster must outlive the oracle.
  // Throws: base::InputError when a device of it has no profile.
  explicit Oracle(const topology::Cluster& cluster, SimulationConfig config = {}, std::size_t most_flows = kMostFlows);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  [[nodiscard]] const topology::Cluster& cluster() const;
  [[nodiscard]] const SimulationConfig& config() const;
  // The profile of the device's type, with the cluster's own memory size where it gives one.
  [[nodiscard]] const profiles::DeviceProfile& device(base::DeviceId d) const;
  // The framework profile that plans of this training are simulated with.
  [[nodiscard]] const profiles::FrameworkProfile& framework(const pcg::TrainingConfig& training) const;

  // A collective alone on the cluster, by the algorithm that is the quickest for its bytes: latency + bytes / bandwidth, as flows take
  // time in proportion to their size. The two come from one run of the engine per (kind, algorithm, group pattern), or from the busiest
  // links where a collective has more than `most_flows`: the basis says which. A pattern is where the group's devices are in their nodes
  // and how the nodes hang together, so that all data-parallel groups of a stage share one.
  [[nodiscard]] CollectiveTime collective(CollectiveKind kind, base::Bytes bytes, std::span<const base::DeviceId> group) const;
  // Several groups doing the same at once (all data-parallel groups of a stage): what they cost each other is included.
  [[nodiscard]] CollectiveTime collectives(CollectiveKind kind, base::Bytes bytes,
                                           std::span<const std::vector<base::DeviceId>> groups) const;
  // The transfers of a round of a movement, alone on the cluster. Those that differ in kind or bytes are asked about apart: then the basis
  // is a bound. Messages that are bounded by links are not remembered: few rounds send the same ones, and each has many.
  [[nodiscard]] RoundCost round(const Round& round) const;

  [[nodiscard]] SimulationResult plan(const pcg::Plan& p) const;
  [[nodiscard]] MemoryUse memory(const pcg::Plan& p) const;  // without simulating
  // The memory of every device that the plan uses, ascending.
  [[nodiscard]] std::vector<MemoryUse> memory_by_device(const pcg::Plan& p) const;

  // What has been asked so far, in seconds of one core: not by a clock, but by counting steps of known cost (effort.hpp), so that it is
  // alike on every machine. Planners add the cost of their own steps.
  [[nodiscard]] base::Seconds effort() const;
  void spend(base::Seconds effort) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sim
