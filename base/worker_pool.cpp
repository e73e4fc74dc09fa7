#include "base/worker_pool.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace base {
namespace {

using Json = nlohmann::json;

// The first byte of what a worker sends says whether the rest is its answer or why there is none.
constexpr char kDone = 'd';
constexpr char kRefused = 'r';  // its input is wrong
constexpr char kFailed = 'f';

// Messages quote what users wrote, which need not be UTF-8: such bytes are replaced, not refused.
std::string text_of(const Json& answer) { return answer.dump(-1, ' ', false, Json::error_handler_t::replace); }

struct Worker {
  std::size_t index = 0;
  pid_t process = 0;
  int pipe = -1;
  std::string received;
};

void send_all(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(pipe, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody listens any more
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// A pipe per worker: answers come whole, and the end of the file says that the worker has ended.
Worker start(std::size_t index, const std::function<Json(std::size_t)>& work) {
  int ends[2];
  BASE_CHECK(::pipe(ends) == 0, "no pipe: {}", std::strerror(errno));
  const pid_t process = ::fork();
  BASE_CHECK(process >= 0, "no worker process: {}", std::strerror(errno));
  if (process == 0) {
    ::close(ends[0]);
    std::string text;
    try {
      text = kDone + text_of(work(index));
    } catch (const InputError& e) { text = kRefused + std::string(e.what()); } catch (const std::exception& e) {
      text = kFailed + std::string(e.what());
    }
    send_all(ends[1], text);
    ::_exit(0);  // without destructors or buffers that belong to the parent
  }
  ::close(ends[1]);
  return {index, process, ends[0], {}};
}

// Returns false when the worker has sent everything.
bool receive(Worker& w) {
  char buffer[1 << 16];
  const ssize_t n = ::read(w.pipe, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n > 0) w.received.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

Json answer_of(Worker& w) {
  ::close(w.pipe);
  int status = 0;
  while (::waitpid(w.process, &status, 0) < 0 && errno == EINTR) {}
  BASE_CHECK(!w.received.empty(), "a worker process ended without a result ({})",
             WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : fmt::format("exit {}", WEXITSTATUS(status)).c_str());
  if (w.received.front() == kRefused) throw InputError({{{}, {}, w.received.substr(1), {}}});
  if (w.received.front() == kFailed) throw base::InternalError(w.received.substr(1));
  return Json::parse(std::string_view(w.received).substr(1));
}

}  // namespace

std::vector<Json> run_workers(std::size_t count, int jobs, const std::function<Json(std::size_t)>& work,
                              const std::function<void(std::size_t)>& finished) {
  std::vector<Json> answers(count);
  if (jobs <= 1) {
    for (std::size_t i = 0; i < count; finished(i++)) answers[i] = work(i);
    return answers;
  }
  std::vector<Worker> running;
  std::size_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && running.size() < static_cast<std::size_t>(jobs)) running.push_back(start(next++, work));
    std::vector<pollfd> pipes;
    for (const Worker& w : running) pipes.push_back({w.pipe, POLLIN, 0});
    if (::poll(pipes.data(), pipes.size(), -1) < 0) continue;  // a signal came first
    for (std::size_t i = running.size(); i-- > 0;) {
      if (pipes[i].revents == 0 || receive(running[i])) continue;
      Worker done = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      answers[done.index] = answer_of(done);
      finished(done.index);
    }
  }
  return answers;
}

}  // namespace base
