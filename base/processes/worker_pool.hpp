#pragma once
// Work shared out among worker processes. Processes, not threads, because some of the work lives in libraries that allow one task of it
// per process at a time (SimGrid's engine) or that share state among threads (Z3).

#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/processes/child_process.hpp"

namespace base {

// The outcome of a task.
struct WorkerAnswer {
  enum class Fate { answered, ended_from_outside, crashed };

  Fate fate = Fate::answered;
  nlohmann::json answer;  // of what was answered
  // How its worker process ended before it had answered: twice, or, where the second one answered, once. Empty: not at all.
  std::string ended;
};

// A process that does one task after another, each when it is started.
class Worker {
 public:
  using Work = std::function<nlohmann::json(std::size_t)>;

  // Starts the process, which sees this one's memory as it is now, and lets it do task `first`. `work` outlives it.
  // Throws: std::system_error where the system has no process or descriptor to give.
  Worker(const Work& work, std::size_t first);
  Worker(Worker&&) noexcept = default;
  Worker& operator=(Worker&&) noexcept = default;
  // Ends the process, whatever it does.
  ~Worker() = default;

  [[nodiscard]] std::size_t task() const { return task_; }
  // Has it do another, once it has answered. A process that has ended meanwhile does not answer.
  void start(std::size_t task);
  // To be waited at by poll().
  [[nodiscard]] int pipe() const { return process_.pipe(); }
  // Takes what has come, waiting for some.
  // Returns: the answer once it is whole, or how the process ended before.
  // Throws: base::InputError with what was wrong where the work threw one, base::InternalError where it failed otherwise.
  [[nodiscard]] std::optional<WorkerAnswer> receive();
  [[nodiscard]] long long processor_time() const { return process_.processor_time(); }

 private:
  // Descriptors of a pair of sockets that carries the numbers of tasks to the process.
  class Orders {
   public:
    Orders();
    Orders(Orders&& other) noexcept;
    Orders& operator=(Orders&& other) noexcept;
    ~Orders();
    void send(std::size_t task) const;
    // In the process: waits for the next task. nullopt: there is none.
    [[nodiscard]] std::optional<std::size_t> next() const;
    void keep_giver();
    void keep_taker();

   private:
    int giver_ = -1, taker_ = -1;
  };

  Orders orders_;  // before the process, which is started with them
  ChildProcess process_;
  std::string bytes_;  // of the answer so far
  std::size_t task_;
};

// A worker process was ended from outside, twice: no fault of the input, nor ours.
struct LostWorker : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// So long may a worker use no processor time at all before it is taken to hang: work that goes on uses some.
constexpr std::chrono::seconds kWorkerPatience{60};

// Returns: work(0) .. work(count - 1), in order, done by at most `jobs` processes at once. Each sees this one's memory as it is when it
// starts and does task after task, so that work may find what earlier tasks left behind in its own process. `finished(i)` is called here as
// each is done. A task whose process is ended before it has answered (by the system when memory runs out, by a user, by a crash, by its own
// want of memory, or by us because it hangs) is done again, once, alone in a new process, after all the others. A process that computes
// without an end does not hang: work has limits of its own. Throws, without waiting for the others: base::InputError with what was wrong
// when a worker's work throws one, base::InternalError when it fails otherwise; std::system_error where no process can be started. Bytes
// that are not UTF-8 are replaced on their way between processes.
// Cost: a fork for each process, some 2 ms, and a message each way for each task, well below 0.1 ms and the answer's text.
[[nodiscard]] std::vector<WorkerAnswer> try_workers(std::size_t count, int jobs, const std::function<nlohmann::json(std::size_t)>& work,
                                                    const std::function<void(std::size_t)>& finished,
                                                    std::chrono::milliseconds patience = kWorkerPatience);

// The same for work of which every task is needed; with jobs <= 1 it is done in this process, one after another. Throws besides:
// LostWorker, of a crash base::InternalError, when a task is not answered; with jobs <= 1 whatever the work throws.
[[nodiscard]] std::vector<nlohmann::json> run_workers(std::size_t count, int jobs, const std::function<nlohmann::json(std::size_t)>& work,
                                                      const std::function<void(std::size_t)>& finished);

}  // namespace base
