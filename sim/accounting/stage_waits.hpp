#pragma once
// Why a device had nothing to run: it waited for another stage of the pipeline, or for its own host and the devices beside it.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/accounting/accounts.hpp"

namespace sim {

class StageWaits {
 public:
  // What the accounts refer to outlives the object. Cost: O(tasks + their streams).
  explicit StageWaits(const Accounts& a);

  // A task of a device class could have started at `since` and did not. Its waiting is followed backwards, each task to the one that it
  // waited for last, as long as they are of the class's own pipeline rank.
  // Returns: the moment up to which the task waited for what another rank did; `since` where it waited for none. What is left until it
  // started, its own hosts and devices needed.
  // Cost: O(log tasks) for each task on the way, and their dependencies.
  [[nodiscard]] double until(std::uint32_t task, double since, std::uint32_t device_class) const;

 private:
  [[nodiscard]] const Entry& entry(std::uint32_t task) const;
  [[nodiscard]] bool is_of_rank(const Entry& e, int rank) const;
  // The task whose end let this one start; nullopt: it started with the iteration.
  [[nodiscard]] std::optional<std::uint32_t> last_waited_for(std::uint32_t task) const;

  const Accounts& a_;
  std::vector<int> rank_;                     // of the pipeline, per device class
  std::vector<std::uint32_t> stream_before_;  // as TaskGraph::task_streams: the task before on that stream, or kNone
};

}  // namespace sim
