#pragma once
// The bytes of a file, inflated while they are read if they are gzip's. A std::streambuf, so that parsers read in parts whatever the
// file's size. Private to this folder.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace imports {

// The limit on what a file may hold after inflating: a file of a few MB can inflate to TB. The largest traces that users publish (Kineto,
// several ranks) are below 1 GiB.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

class ByteSource final : public std::streambuf {
 public:
  // Throws: base::InputError when the file cannot be opened or is empty. Reading throws it when a gzip stream is damaged or cut short,
  // or when more than `most` bytes come out.
  explicit ByteSource(const std::filesystem::path& file, std::uint64_t most = kMostBytes);

  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the next bytes, at most `count`, which stay to be read. They are fewer than `count` only at the end.
  // Requires: count <= 64 Ki.
  [[nodiscard]] std::string peek(std::size_t count);
  // Returns all bytes that are left.
  // Throws: base::InputError when they are more than `most`.
  [[nodiscard]] std::string rest(std::size_t most);

 protected:
  int_type underflow() override;

 private:
  [[nodiscard]] std::size_t fill(char* to, std::size_t room);

  std::string name_;
  std::uint64_t left_;
  std::filebuf file_;
  std::unique_ptr<std::streambuf> inflated_;  // only of gzip's files; it reads file_
  std::vector<char> out_;
};

// Throws: base::InputError "FILE: MESSAGE", or "FILE:LINE:1: MESSAGE" when line > 1 ("FILE: line 1: MESSAGE" for the first), and the hint
// below it.
[[noreturn]] void refuse(const std::string& file, std::string message, std::string hint = {}, int line = 0);

}  // namespace imports
