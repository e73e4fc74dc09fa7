#include "base/files/used_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/diagnostics.hpp"

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
  throw InputError(
      {{{}, input, fmt::format("is read, and {} would overwrite it", option), fmt::format("choose another file for {}", option)}});
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

std::vector<std::string> noted_inputs() {
  std::vector<std::string> names;
  for (const auto& [id, name] : used_files().inputs) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace base
