#pragma once
// Work shared out among worker processes: the simulator runs one simulation at a time per process. Private to this folder.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace base {

// work(0) .. work(count - 1), at most `jobs` at once, each in a process of its own that sees this one's memory as it is now; the texts
// come back in order. finished(i) is called here as each is done.
// Throws: base::InternalError when a worker fails, with what it said.
[[nodiscard]] std::vector<std::string> run_workers(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                                                   const std::function<void(std::size_t)>& finished);

}  // namespace base
