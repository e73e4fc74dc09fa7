#include "cli/terminal/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "base/diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "reports/answer.hpp"

namespace cli {
namespace {

int output_error = 0;  // the first that standard output met

void keep_error(bool failed) {
  if (failed && output_error == 0) output_error = errno;
}

// The sequence of reports that text starts with, or nothing.
std::string_view escape_of_reports(std::string_view text) {
  for (const std::string_view escape : reports::kEscapes)
    if (text.starts_with(escape)) return escape;
  return {};
}

// Names and messages quote files, and what a file says must not steer a terminal: control characters (C0 but line ends and tabs, DEL, C1)
// are shown as what they are. `colour`: whether those that reports colour with may be there.
std::string printable(std::string_view text, reports::Colour colour) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_c1 = c == 0xC2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xE0U) == 0x80U;
    if (const std::string_view escape = escape_of_reports(text.substr(i)); colour == reports::Colour::terminal && !escape.empty()) {
      out += escape;
      i += escape.size() - 1;
    } else if (is_c1) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void prepare_standard_streams() {
  // Opened for reading: who writes there still gets an error.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != stream) return;
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

void print(std::string_view text) {
  const std::string shown = printable(text, wanted_colour());
  keep_error(std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size());
}

void tell(std::string_view text) {
  const std::string shown = printable(text, reports::Colour::none);
  (void)std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void flush_standard_output() { keep_error(std::fflush(stdout) != 0); }

void finish_standard_output() {
  flush_standard_output();
  const int error = std::exchange(output_error, 0);  // said once
  if (error == 0) return;
  if (error == EPIPE) {
    (void)std::signal(SIGPIPE, SIG_DFL);
    (void)std::raise(SIGPIPE);
  }
  base::refuse("standard output", fmt::format("cannot be written: {}", std::strerror(error)));
}

}  // namespace cli
