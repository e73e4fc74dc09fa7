#include "cli/terminal/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"

namespace cli {

namespace {

int output_error = 0;  // the first that standard output met

void keep_error(bool failed) {
  if (failed && output_error == 0) output_error = errno;
}

}  // namespace

void prepare_standard_streams() {
  // Opened for reading: who writes there still gets an error.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != stream) return;
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

void print(std::string_view text) { keep_error(std::fwrite(text.data(), 1, text.size(), stdout) != text.size()); }

void tell(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

void flush_standard_output() { keep_error(std::fflush(stdout) != 0); }

void finish_standard_output() {
  flush_standard_output();
  const int error = std::exchange(output_error, 0);  // said once
  if (error == 0) return;
  if (error == EPIPE) {
    (void)std::signal(SIGPIPE, SIG_DFL);
    (void)std::raise(SIGPIPE);
  }
  throw base::InputError({{{}, "standard output", fmt::format("cannot be written: {}", std::strerror(error)), {}}});
}

}  // namespace cli
