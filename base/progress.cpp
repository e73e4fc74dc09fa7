#include "base/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/diagnostics.hpp"

namespace base {
namespace {

constexpr std::size_t kUsualColumns = 80;  // of a terminal that does not say its width

std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

}  // namespace

std::string rewritten_line(std::string_view text, std::size_t columns) {
  // A full line would wrap, and then "\r" goes back to the wrong one. ESC [K wipes what an older, longer text left.
  std::size_t length = 0, width = 0;
  while (length < text.size() && text[length] != '\n') {
    if (!continues_character(text[length]) && ++width >= columns) break;
    ++length;
  }
  return "\r" + std::string(text.substr(0, length)) + "\x1b[K";
}

ProgressLine::ProgressLine(Verbosity verbosity, std::FILE* stream)
    : stream_(stream), enabled_(verbosity == Verbosity::usual && isatty(fileno(stream)) == 1) {}

void ProgressLine::show(std::string_view text) {
  if (!enabled_ || text == shown_) return;
  shown_ = text;
  std::fputs(rewritten_line(text, columns_of(stream_)).c_str(), stream_);
  std::fflush(stream_);
}

void ProgressLine::clear() {
  if (!shown_.empty()) show({});
}

}  // namespace base
