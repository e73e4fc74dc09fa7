#pragma once
// A command of the program: it adds itself to the command line and puts its work into `action`, which returns the exit code.

#include <CLI/CLI.hpp>

#include <functional>

namespace cli {

// 0 answered; 1 a healthy answer that is "no"; 2 bad input, or the system refused a file, memory or processes; 3 our own bug; 4 worker
// processes were ended from outside, and with them part of the answer. What a signal has cut short ends with 128 and the signal.
enum ExitCode { kAnswered = 0, kNo = 1, kBadInput = 2, kBug = 3, kIncomplete = 4, kSignalled = 128 };

constexpr const char* kBugText = "This is a bug of ours. Please report it with the input that led here.\n";

using Action = std::function<int()>;

}  // namespace cli
