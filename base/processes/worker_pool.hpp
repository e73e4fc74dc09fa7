#pragma once
// Work shared out among worker processes. Processes, not threads, because some of the work lives in libraries that allow one piece of it
// per process at a time (SimGrid's engine) or that share state among threads (Z3).

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace base {

// Returns work(0) .. work(count - 1), in order. At most `jobs` run at once, each in a process of its own, which sees this one's memory as
// it is when that piece of work begins; with jobs <= 1 all run in this one, one after another. `finished(i)` is called here as each
// is done. Throws, without waiting for the others: base::InputError with what was wrong when a worker's work throws one,
// base::InternalError when it fails otherwise; with jobs <= 1 whatever the work throws. Bytes that are not UTF-8 are replaced on their way
// between processes. Cost: a fork and a few pages for each piece, some 2 ms: pieces are best a few hundred milliseconds long.
[[nodiscard]] std::vector<nlohmann::json> run_workers(std::size_t count, int jobs, const std::function<nlohmann::json(std::size_t)>& work,
                                                      const std::function<void(std::size_t)>& finished);

}  // namespace base
