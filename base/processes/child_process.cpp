#include "base/processes/child_process.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <system_error>

namespace base {
namespace {

void send_all(int pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(pipe, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);  // the parent has closed its end
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

[[noreturn]] void refuse_process(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

int status_at_end(pid_t process) noexcept {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

}  // namespace

bool ProcessEnd::is_crash() const {
  constexpr std::array kFaults = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  if (signal == 0) return status != 0;  // a library has called exit()
  return std::ranges::find(kFaults, signal) != kFaults.end();
}

std::string ProcessEnd::text() const { return signal != 0 ? ::strsignal(signal) : fmt::format("exit {}", status); }

ChildProcess::ChildProcess(const std::function<void(const Send&)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) refuse_process("a worker process gets no pipe");
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    process_ = 0;
    const int why = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    errno = why;
    refuse_process("a worker process cannot be started");
  }
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it ended before that call
    leave_interruptions_to_parent();
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

ProcessEnd ChildProcess::wait() {
  const int status = status_at_end(std::exchange(process_, 0));
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.status = WEXITSTATUS(status)};
}

long long ChildProcess::processor_time() const {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<long long>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

void ChildProcess::end() noexcept {
  if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  status_at_end(std::exchange(process_, 0));
}

}  // namespace base
