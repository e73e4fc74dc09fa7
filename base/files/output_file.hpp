#pragma once
// A file that is written whole or not at all: beside the old one, which stays as it is until the new one is on the disk.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace base {

class OutputFile {
 public:
  // Makes a temporary file in the folder of `file`. Where `file` is a link, what it leads to is written; a device, a pipe or one of
  // this process's own descriptors (/dev/stdout) is written directly.
  // Throws: InputError, as the others here, which names the file and why.
  explicit OutputFile(const std::filesystem::path& file);
  // Leaves the old file as it was where commit() has not been called, or has thrown.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  // Puts the new file in the old one's place, with its permissions, once every byte is on the disk.
  void commit();

 private:
  void open_beside();
  void discard() noexcept;
  [[noreturn]] void refuse(int error, std::string_view hint = {});

  std::filesystem::path name_;    // as the user wrote it
  std::filesystem::path target_;  // where that leads
  std::filesystem::path beside_;  // empty: written directly, or committed
  int descriptor_ = -1;
};

// Writes a file anew.
// Throws: InputError when that fails; the old file is as it was then.
void write_file(const std::filesystem::path& file, std::string_view text);

// Where an answer of this name goes in the end, through links. nullopt: to no regular file, but to a device, a pipe or a descriptor.
[[nodiscard]] std::optional<std::filesystem::path> regular_target(const std::filesystem::path& file);

}  // namespace base
