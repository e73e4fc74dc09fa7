#include "base/processes/worker_pool.hpp"

#include <poll.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/processes/child_process.hpp"

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
  ChildProcess process;
};

Worker start(std::size_t index, const std::function<Json(std::size_t)>& work) {
  return {index, ChildProcess([&](const ChildProcess::Send& send) {
            std::string text;
            try {
              text = kDone + text_of(work(index));
            } catch (const InputError& e) { text = kRefused + std::string(e.what()); } catch (const std::exception& e) {
              text = kFailed + std::string(e.what());
            }
            send(text);
          })};
}

Json answer_of(ChildProcess& process) {
  const std::string end = process.wait(), &received = process.received();
  BASE_CHECK(!received.empty(), "a worker process ended without a result ({})", end);
  if (received.front() == kRefused) throw InputError({{{}, {}, received.substr(1), {}}});
  if (received.front() == kFailed) throw base::InternalError(received.substr(1));
  return Json::parse(std::string_view(received).substr(1));
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
    for (const Worker& w : running) pipes.push_back({w.process.pipe(), POLLIN, 0});
    if (::poll(pipes.data(), pipes.size(), -1) < 0) continue;  // a signal came first
    for (std::size_t i = running.size(); i-- > 0;) {
      if (pipes[i].revents == 0 || running[i].process.receive()) continue;
      Worker done = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      answers[done.index] = answer_of(done.process);
      finished(done.index);
    }
  }
  return answers;
}

}  // namespace base
