#pragma once
// One line that says what long work is doing, rewritten in place. Only a terminal shows it: pipes and files never see it.

#include <cstdio>
#include <string>
#include <string_view>

namespace base {

// How much of itself a command shows while it works.
enum class Verbosity { quiet, usual };

class ProgressLine {
 public:
  // The line stays silent when it is asked to be quiet, and when `stream` is no terminal.
  explicit ProgressLine(Verbosity verbosity, std::FILE* stream = stderr);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows `text` (cut to the terminal's width) instead of what was there. Cheap when the text is the same.
  void show(std::string_view text);
  // Wipes the line, so that other output can follow. The destructor does it too.
  void clear();

 private:
  std::FILE* stream_;
  bool enabled_;
  std::string shown_;
};

// Returns: the bytes that show() writes to a terminal `columns` wide: the first line of `text`, cut to fit, over whatever was there.
[[nodiscard]] std::string rewritten_line(std::string_view text, std::size_t columns);

}  // namespace base
