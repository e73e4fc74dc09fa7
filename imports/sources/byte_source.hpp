#pragma once
// The bytes of a file, inflated while they are read if they are gzip's. A std::streambuf, so that parsers read in pieces whatever the
// file's size. Private to this folder.

#include <zlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <streambuf>
#include <string>
#include <vector>

namespace imports {

inline constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  // after inflating: a file of some MB can inflate to TB

class ByteSource final : public std::streambuf {
 public:
  // Throws: base::InputError when the file cannot be opened or is empty. Reading throws it when a gzip stream is damaged or cut short,
  // or when more than `most` bytes come out.
  explicit ByteSource(const std::filesystem::path& file, std::uint64_t most = kMostBytes);
  ~ByteSource() override;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // The next bytes, at most `count`, which stay to be read. Fewer than `count` only at the end. Requires: count <= 64 Ki.
  [[nodiscard]] std::string peek(std::size_t count);
  // All bytes that are left. Throws: base::InputError when they are more than `most`.
  [[nodiscard]] std::string rest(std::size_t most);

 protected:
  int_type underflow() override;

 private:
  [[nodiscard]] std::size_t fill(char* to, std::size_t room);
  [[nodiscard]] std::size_t inflate_into(char* to, std::size_t room);
  void read_more();

  std::string name_;
  std::ifstream in_;
  std::uint64_t left_;
  bool gzip_ = false, between_members_ = false;
  z_stream inflater_{};
  std::vector<char> raw_, out_;
};

}  // namespace imports
