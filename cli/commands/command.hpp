#pragma once
// A command of the program: it adds itself to the command line and puts its work into `action`, which returns the exit code.

#include <CLI/CLI.hpp>

#include <functional>

namespace cli {

// 0 answered; 1 a healthy answer that is "no"; 2 bad input; 3 our own bug.
enum ExitCode { kAnswered = 0, kNo = 1, kBadInput = 2, kBug = 3 };

using Action = std::function<int()>;

}  // namespace cli
