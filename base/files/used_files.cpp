#include "base/files/used_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/hash.hpp"

namespace base {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct UsedFiles {
  std::map<FileId, std::string> inputs;   // what each was called
  std::map<FileId, std::string> outputs;  // the option that names it
};

UsedFiles& used_files() {
  static UsedFiles files;
  return files;
}

std::optional<FileId> id_of(const std::filesystem::path& file) {
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return FileId{s.st_dev, s.st_ino};
}

[[noreturn]] void refuse_overwriting(const std::string& input, const std::string& option) {
  refuse(input, fmt::format("is read, and {} would overwrite it", option), fmt::format("choose another file for {}", option));
}

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

}  // namespace

void note_input(const std::filesystem::path& file) {
  const std::optional<FileId> id = id_of(file);
  if (!id) return;
  const auto output = used_files().outputs.find(*id);
  if (output != used_files().outputs.end()) refuse_overwriting(file.string(), output->second);
  used_files().inputs.emplace(*id, file.string());
}

void note_output(const std::filesystem::path& file, const std::string& option) {
  const std::optional<FileId> id = id_of(file);
  if (!id) return;
  const auto input = used_files().inputs.find(*id);
  if (input != used_files().inputs.end()) refuse_overwriting(input->second, option);
  used_files().outputs.emplace(*id, option);
}

std::string fingerprint_of_inputs(const std::vector<std::string>& without) {
  std::vector<std::string> inputs;
  for (const auto& [id, name] : used_files().inputs) inputs.push_back(name);
  std::ranges::sort(inputs);
  std::string text = fmt::format("foreshard {:016x}", fingerprint("/proc/self/exe"));
  for (const std::string& input : inputs)
    if (std::ranges::find(without, input) == without.end()) text += fmt::format(", {} {:016x}", input, fingerprint(input));
  return text;
}

}  // namespace base
