#include "base/processes/child_process.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace base {
namespace {

void send_all(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(pipe, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody listens any more
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

int status_at_end(pid_t process) noexcept {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void(const Send&)>& work) {
  int ends[2];
  BASE_CHECK(::pipe(ends) == 0, "no pipe: {}", std::strerror(errno));
  process_ = ::fork();
  BASE_CHECK(process_ >= 0, "no child process: {}", std::strerror(errno));
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    work([&](std::string_view bytes) { send_all(ends[1], bytes); });
    ::_exit(0);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, 0)), pipe_(std::exchange(other.pipe_, -1)), received_(std::move(other.received_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  process_ = std::exchange(other.process_, 0);
  pipe_ = std::exchange(other.pipe_, -1);
  received_ = std::move(other.received_);
  return *this;
}

ChildProcess::~ChildProcess() { end(); }

bool ChildProcess::receive() {
  char buffer[1 << 16];
  const ssize_t n = ::read(pipe_, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n > 0) received_.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

std::string ChildProcess::wait() {
  const int status = status_at_end(std::exchange(process_, 0));
  return WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : fmt::format("exit {}", WEXITSTATUS(status));
}

void ChildProcess::end() noexcept {
  if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  status_at_end(std::exchange(process_, 0));
}

}  // namespace base
