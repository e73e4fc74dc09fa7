#include "sim/engine/task_graph.hpp"

namespace sim {

std::uint32_t TaskGraph::add(std::uint32_t step, std::span<const std::uint32_t> on_streams, std::span<const std::uint32_t> after) {
  Task task{.step = step};
  task.streams_begin = static_cast<std::uint32_t>(task_streams.size());
  task_streams.insert(task_streams.end(), on_streams.begin(), on_streams.end());
  task.streams_end = static_cast<std::uint32_t>(task_streams.size());
  task.dependencies_begin = static_cast<std::uint32_t>(task_dependencies.size());
  task_dependencies.insert(task_dependencies.end(), after.begin(), after.end());
  task.dependencies_end = static_cast<std::uint32_t>(task_dependencies.size());
  tasks.push_back(task);
  return static_cast<std::uint32_t>(tasks.size() - 1);
}

}  // namespace sim
