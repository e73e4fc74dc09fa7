#pragma once
// Why a device had nothing to run: it waited for another stage of the pipeline, or for its own host and the devices beside it.

#include <cstdint>
#include <vector>

#include "sim/accounting/predecessors.hpp"

namespace sim {

class StageWaits {
 public:
  // The predecessors, and what the accounts refer to, outlive the object. Cost: O(tasks).
  StageWaits(const Accounts& a, const Predecessors& predecessors);

  // A task of a device class could have started at `since` and did not. Its waiting is followed backwards, each task to the one that it
  // waited for last, as long as they are of the class's own pipeline rank.
  // Returns: the moment up to which the task waited for what another rank did; `since` where it waited for none. What is left until it
  // started, its own hosts and devices needed.
  // Cost: O(log tasks) for each task on the way, and their dependencies.
  [[nodiscard]] double until(std::uint32_t task, double since, std::uint32_t device_class) const;

 private:
  [[nodiscard]] bool is_of_rank(const Entry& e, int rank) const;

  const Accounts& a_;
  const Predecessors& predecessors_;
  std::vector<int> rank_;  // of the pipeline, per device class
};

}  // namespace sim
