#pragma once
// BASE_CHECK: an invariant of ours. It stays on in release builds; a failure is our bug, never the user's:
// main catches InternalError, prints it and exits 3.

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace base {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void fail_check(const char* file, int line, const char* condition, const std::string& what) {
  throw InternalError(fmt::format("{}:{}: {} does not hold: {}", file, line, condition, what));
}

}  // namespace base

#define BASE_CHECK(condition, ...)                                                                  \
  do {                                                                                              \
    if (!(condition)) ::base::fail_check(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
