#pragma once
// Work shared out among worker processes. Processes, not threads, because some of the work lives in libraries that allow one piece of it
// per process at a time (SimGrid's engine) or that share state among threads (Z3).

#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "base/processes/worker.hpp"

namespace base {

// A worker process was ended from outside, twice: no fault of the input, nor ours.
struct LostWorker : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// So long may a worker use no processor time at all before it is taken to hang: work that goes on uses some.
constexpr std::chrono::seconds kWorkerPatience{60};

// Returns work(0) .. work(count - 1), in order, done by at most `jobs` processes at once. Each sees this one's memory as it is when it
// starts and does piece after piece, so that work may find what earlier pieces left behind in its own process. `finished(i)` is called here
// as each is done. A piece whose process is ended before it has answered (by the system when memory runs out, by a user, by a crash, by its
// own want of memory, or by us because it hangs) is done again, once, alone in a new process, after all the others. A process that computes
// without an end does not hang: work has limits of its own. Throws, without waiting for the others: base::InputError with what was wrong
// when a worker's work throws one, base::InternalError when it fails otherwise; std::system_error where no process can be started. Bytes
// that are not UTF-8 are replaced on their way between processes. Cost: a fork for each process, some 2 ms, and a message each way for each
// piece, well below 0.1 ms and the answer's text.
[[nodiscard]] std::vector<WorkerAnswer> try_workers(std::size_t count, int jobs, const std::function<nlohmann::json(std::size_t)>& work,
                                                    const std::function<void(std::size_t)>& finished,
                                                    std::chrono::milliseconds patience = kWorkerPatience);

// The same for work of which every piece is needed; with jobs <= 1 it is done in this process, one after another. Throws besides:
// LostWorker, of a crash base::InternalError, when a piece is not answered; with jobs <= 1 whatever the work throws.
[[nodiscard]] std::vector<nlohmann::json> run_workers(std::size_t count, int jobs, const std::function<nlohmann::json(std::size_t)>& work,
                                                      const std::function<void(std::size_t)>& finished);

}  // namespace base
