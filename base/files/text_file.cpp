#include "base/files/text_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/diagnostics.hpp"
#include "base/files/used_files.hpp"
#include "base/units.hpp"

namespace base {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

[[noreturn]] void refuse_text(const std::filesystem::path& file, std::string message) {
  refuse({std::make_shared<const Source>(Source{name_of_input(file), {}}), 0, 0}, "", std::move(message), "");
}

std::string read_bytes(const std::filesystem::path& file, std::size_t most) {
  const auto refuse_unreadable = [&](int reason) { refuse_text(file, fmt::format("cannot be read: {}", std::strerror(reason))); };
  std::error_code ignored;                                                      // what cannot be asked cannot be opened either
  if (std::filesystem::is_directory(file, ignored)) refuse_unreadable(EISDIR);  // it opens, and then reading fails
  note_input(file);
  errno = 0;
  std::filebuf in;
  if (in.open(is_standard_input(file) ? "/dev/stdin" : file, std::ios::in | std::ios::binary) == nullptr) refuse_unreadable(errno);
  std::string text, part(kReadAtOnce, '\0');
  const auto next = [&] {
    try {
      return static_cast<std::size_t>(in.sgetn(part.data(), static_cast<std::streamsize>(part.size())));
    } catch (const std::ios_base::failure&) { refuse_unreadable(errno == 0 ? EIO : errno); }
    return std::size_t{0};
  };
  while (const std::size_t count = next()) {
    text.append(part, 0, count);
    if (const std::size_t zero = text.find('\0', text.size() - count); zero != std::string::npos)
      refuse_text(file, fmt::format("not text in UTF-8: byte 0x00 in line {}",
                                    1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n')));
    if (text.size() > most) refuse_text(file, fmt::format("is larger than {}", to_text(Bytes(static_cast<double>(most)))));
  }
  return text;
}

}  // namespace

bool is_standard_input(const std::filesystem::path& file) { return file == "-"; }

std::string name_of_input(const std::filesystem::path& file) { return is_standard_input(file) ? "standard input" : file.string(); }

std::string read_text_file(const std::filesystem::path& file, std::size_t most) {
  if (!is_standard_input(file)) return read_bytes(file, most);
  static const std::string kept = read_bytes(file, most);  // it is given once, and some commands read a file twice
  return kept;
}

}  // namespace base
