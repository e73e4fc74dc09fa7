#pragma once
// The tasks that a task of a simulated iteration waited for.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/accounting/accounts.hpp"

namespace sim {

class Predecessors {
 public:
  // What the accounts refer to outlives the object. Cost: O(tasks + their streams).
  explicit Predecessors(const Accounts& a);

  // The instance of a block that a task is of. Cost: O(log instances).
  [[nodiscard]] const BlockInstance& instance(std::uint32_t task) const;
  [[nodiscard]] const Entry& entry(std::uint32_t task) const;
  // The task whose end let this one start: one that it depends on, or the one before it on a stream. nullopt: it started with the
  // iteration. Cost: O(dependencies and streams of the task).
  [[nodiscard]] std::optional<std::uint32_t> last_waited_for(std::uint32_t task) const;

 private:
  const Accounts& a_;
  std::vector<std::uint32_t> stream_before_;  // as TaskGraph::task_streams: the task before on that stream, or kNoTask
};

}  // namespace sim
