#include "base/processes/worker_pool.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <deque>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace base {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using Fate = WorkerAnswer::Fate;

constexpr int kLooks = 60;  // at whether a worker hangs, within the patience

// A worker and, for the watch over it, how often in a row it was seen to have used no processor time.
struct Watched {
  Worker worker;
  long long used = -1;
  int idle_looks = 0;
};

class WorkerPool {
 public:
  WorkerPool(std::size_t count, int jobs, const std::function<Json(std::size_t)>& work, const std::function<void(std::size_t)>& finished,
             std::chrono::milliseconds patience)
      : jobs_(static_cast<std::size_t>(std::max(1, jobs))),
        work_(work),
        finished_(finished),
        look_every_(patience / kLooks),
        answers_(count) {
    for (std::size_t i = 0; i < count; ++i) waiting_.push_back(i);
  }

  std::vector<WorkerAnswer> run() && {
    while (true) {
      start_some();
      if (running_.empty()) return std::move(answers_);
      wait();
      look();
    }
  }

 private:
  void start_some() {
    while (!waiting_.empty() && running_.size() < jobs_ && start(waiting_)) {}
    if (running_.empty() && !again_.empty()) start(again_);
  }

  // Where the system has no process to give, those that run are waited for first. Returns: whether one was started.
  bool start(std::deque<std::size_t>& from) {
    try {
      running_.push_back({Worker(work_, from.front())});
    } catch (const std::system_error&) {
      if (running_.empty()) throw;
      return false;
    }
    from.pop_front();
    return true;
  }

  void wait() {
    std::vector<pollfd> pipes;
    for (const Watched& w : running_) pipes.push_back({w.worker.pipe(), POLLIN, 0});
    if (::poll(pipes.data(), pipes.size(), static_cast<int>(look_every_.count())) < 0) return;  // a signal came first
    for (std::size_t i = running_.size(); i-- > 0;)
      if (pipes[i].revents != 0) receive(i);
  }

  void receive(std::size_t i) {
    Worker& worker = running_[i].worker;
    std::optional<WorkerAnswer> answer = worker.receive();
    if (!answer) return;
    const std::size_t task = worker.task();
    // It gets its next task first, to work while this process reads. One whose memory ran out may have little left.
    if (answer->fate == Fate::answered && !waiting_.empty()) {
      worker.start(waiting_.front());
      waiting_.pop_front();
    } else {
      end(i);
    }
    take_answer(task, std::move(*answer));
  }

  // Looks, not seconds, are counted: while this process was stopped together with its workers (Ctrl-Z), none of them hung.
  void look() {
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + look_every_;
    for (std::size_t i = running_.size(); i-- > 0;) {
      Watched& w = running_[i];
      const long long used = w.worker.processor_time();
      w.idle_looks = used == std::exchange(w.used, used) ? w.idle_looks + 1 : 0;
      if (w.idle_looks < kLooks) continue;
      const std::size_t task = w.worker.task();
      end(i);
      take_answer(task, {.fate = Fate::ended_from_outside,
                         .answer = {},
                         .ended = fmt::format("it hung: no processor time in {} s", (look_every_ * kLooks).count() / 1000)});
    }
  }

  void end(std::size_t i) { running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i)); }

  void take_answer(std::size_t index, WorkerAnswer answer) {
    const bool is_second = !answers_[index].ended.empty();
    if (answer.ended.empty()) answer.ended = answers_[index].ended;
    const bool is_answered = answer.fate == Fate::answered;
    answers_[index] = std::move(answer);
    if (is_answered || is_second) finished_(index);
    else again_.push_back(index);
  }

  std::size_t jobs_;
  const std::function<Json(std::size_t)>& work_;
  const std::function<void(std::size_t)>& finished_;
  std::chrono::milliseconds look_every_;
  Clock::time_point next_look_ = Clock::now();
  std::deque<std::size_t> waiting_, again_;
  std::vector<Watched> running_;
  std::vector<WorkerAnswer> answers_;
};

}  // namespace

std::vector<WorkerAnswer> try_workers(std::size_t count, int jobs, const std::function<Json(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& finished, std::chrono::milliseconds patience) {
  return WorkerPool(count, jobs, work, finished, patience).run();
}

std::vector<Json> run_workers(std::size_t count, int jobs, const std::function<Json(std::size_t)>& work,
                              const std::function<void(std::size_t)>& finished) {
  std::vector<Json> answers(count);
  if (jobs <= 1) {
    for (std::size_t i = 0; i < count; finished(i++)) answers[i] = work(i);
    return answers;
  }
  std::vector<WorkerAnswer> tried = try_workers(count, jobs, work, finished);
  for (std::size_t i = 0; i < count; ++i) {
    if (tried[i].fate == Fate::crashed) throw InternalError(fmt::format("a worker process crashed twice ({})", tried[i].ended));
    if (tried[i].fate == Fate::ended_from_outside)
      throw LostWorker(
          fmt::format("a worker process was ended from outside, and a second one that did its work alone, too ({})", tried[i].ended));
    answers[i] = std::move(tried[i].answer);
  }
  return answers;
}

}  // namespace base
