#pragma once
// Private to tests/fuzz.

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace fuzz {

// Runs a reader, whose refusals are rendered as main would.
template <class Read>
void refused_or_read(Read read) {
  try {
    read();
  } catch (const base::InputError& e) {
    BASE_CHECK(!e.diagnostics().empty(), "a refusal without a reason");
    for (const base::Diagnostic& d : e.diagnostics()) (void)base::render(d);
  }
}

// A file in memory, for readers that want one.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("input", 0)) {
    BASE_CHECK(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no file in memory");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace fuzz
