#include "base/files/fingerprint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/diagnostics.hpp"
#include "base/files/used_files.hpp"
#include "base/hash.hpp"

namespace base {

std::uint64_t fingerprint(const std::filesystem::path& file) {
  note_input(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file.string(), "cannot be read");
  Hash hash(0);
  std::uint64_t size = 0;
  std::array<char, std::size_t{1} << 16U> block{};
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    const auto count = static_cast<std::size_t>(in.gcount());
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(count), block.end(), '\0');  // of the last block
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + at, sizeof word);
      hash(word);
    }
    size += count;
  }
  return hash(size).value();
}

std::string fingerprint_of_inputs(const std::vector<std::string>& without) {
  std::vector<std::string> inputs = noted_inputs();
  std::string text = fmt::format("foreshard {:016x}", fingerprint("/proc/self/exe"));
  for (const std::string& input : inputs)
    if (std::ranges::find(without, input) == without.end()) text += fmt::format(", {} {:016x}", input, fingerprint(input));
  return text;
}

}  // namespace base
