#pragma once
// A text file as a string, however its bytes arrive: a file, a pipe, a device.

#include <cstddef>
#include <filesystem>
#include <string>

namespace base {

// The largest text that is read: far above any scenario, plan or table, far below memory.
inline constexpr std::size_t kMostTextBytes = std::size_t{256} << 20;

// "-" is standard input, for whatever reads.
[[nodiscard]] bool is_standard_input(const std::filesystem::path& file);
// How messages call a file.
[[nodiscard]] std::string name_of_input(const std::filesystem::path& file);

// Returns: the bytes of the file; of standard input the same however often it is asked.
// Throws: InputError with the file's name when it cannot be read (a folder, no rights), holds more than `most` bytes, or holds a zero byte:
// then it is no text, and reading ends at the byte. Memory: the text, whatever the file would hold.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file, std::size_t most = kMostTextBytes);

}  // namespace base
