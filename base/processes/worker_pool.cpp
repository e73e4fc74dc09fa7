#include "base/processes/worker_pool.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <deque>
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

struct WorkerPool {
  std::size_t jobs;
  const std::function<Json(std::size_t)>& work;
  const std::function<void(std::size_t)>& finished;
  std::chrono::milliseconds look_every;
  Clock::time_point next_look = Clock::now();
  std::deque<std::size_t> waiting, again;
  std::vector<Watched> running;
  std::vector<WorkerAnswer> answers;
};

// Where the system has no process to give, those that run are waited for first. Returns: whether one was started.
bool start(WorkerPool& p, std::deque<std::size_t>& from) {
  try {
    p.running.push_back({Worker(p.work, from.front())});
  } catch (const std::system_error&) {
    if (p.running.empty()) throw;
    return false;
  }
  from.pop_front();
  return true;
}

void start_some(WorkerPool& p) {
  while (!p.waiting.empty() && p.running.size() < p.jobs && start(p, p.waiting)) {}
  if (p.running.empty() && !p.again.empty()) start(p, p.again);
}

void end(WorkerPool& p, std::size_t i) { p.running.erase(p.running.begin() + static_cast<std::ptrdiff_t>(i)); }

void take_answer(WorkerPool& p, std::size_t index, WorkerAnswer answer) {
  const bool is_second = !p.answers[index].ended.empty();
  if (answer.ended.empty()) answer.ended = p.answers[index].ended;
  const bool is_answered = answer.fate == Fate::answered;
  p.answers[index] = std::move(answer);
  if (is_answered || is_second) p.finished(index);
  else p.again.push_back(index);
}

void receive(WorkerPool& p, std::size_t i) {
  Worker& worker = p.running[i].worker;
  std::optional<WorkerAnswer> answer = worker.receive();
  if (!answer) return;
  const std::size_t task = worker.task();
  // It gets its next task first, to work while this process reads. One whose memory ran out may have little left.
  if (answer->fate == Fate::answered && !p.waiting.empty()) {
    worker.start(p.waiting.front());
    p.waiting.pop_front();
  } else {
    end(p, i);
  }
  take_answer(p, task, std::move(*answer));
}

void wait(WorkerPool& p) {
  std::vector<pollfd> pipes;
  for (const Watched& w : p.running) pipes.push_back({w.worker.pipe(), POLLIN, 0});
  if (::poll(pipes.data(), pipes.size(), static_cast<int>(p.look_every.count())) < 0) return;  // a signal came first
  for (std::size_t i = p.running.size(); i-- > 0;)
    if (pipes[i].revents != 0) receive(p, i);
}

// Looks, not seconds, are counted: while this process was stopped together with its workers (Ctrl-Z), none of them hung.
void look(WorkerPool& p) {
  const Clock::time_point now = Clock::now();
  if (now < p.next_look) return;
  p.next_look = now + p.look_every;
  for (std::size_t i = p.running.size(); i-- > 0;) {
    Watched& w = p.running[i];
    const long long used = w.worker.processor_time();
    w.idle_looks = used == std::exchange(w.used, used) ? w.idle_looks + 1 : 0;
    if (w.idle_looks < kLooks) continue;
    const std::size_t task = w.worker.task();
    end(p, i);
    take_answer(p, task,
                {.fate = Fate::ended_from_outside,
                 .answer = {},
                 .ended = fmt::format("it hung: no processor time in {} s", (p.look_every * kLooks).count() / 1000)});
  }
}

}  // namespace

std::vector<WorkerAnswer> try_workers(std::size_t count, int jobs, const std::function<Json(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& finished, std::chrono::milliseconds patience) {
  WorkerPool p{.jobs = static_cast<std::size_t>(std::max(1, jobs)),
               .work = work,
               .finished = finished,
               .look_every = patience / kLooks,
               .answers = std::vector<WorkerAnswer>(count)};
  for (std::size_t i = 0; i < count; ++i) p.waiting.push_back(i);
  while (true) {
    start_some(p);
    if (p.running.empty()) return std::move(p.answers);
    wait(p);
    look(p);
  }
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
