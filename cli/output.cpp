#include "cli/output.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/diagnostics.hpp"

namespace cli {

namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;  // tables of measurements are a thousandth of it

[[noreturn]] void refuse(const std::filesystem::path& file, std::string message) {
  throw base::InputError(std::vector<base::Diagnostic>{{{}, file.string(), std::move(message), {}}});
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) refuse(file, "no such file");
  if (std::filesystem::file_size(file, error) > kMostBytes) refuse(file, "is larger than 256 MiB: no table of measurements");
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) refuse(file, "cannot be read");
  return std::move(text).str();
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  if (file == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return;
  base::Diagnostics sink;
  sink.add({}, file.string(), fmt::format("cannot be written: {}", std::strerror(errno)));
  sink.throw_if_any();
}

void check_writable(const std::filesystem::path& file, const std::string& option) {
  if (file.empty() || file == "-") return;
  const auto refuse_option = [&](const std::string& message, std::string hint) {
    throw base::InputError(std::vector<base::Diagnostic>{{{}, option, message, std::move(hint)}});
  };
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) refuse_option(fmt::format("there is no folder {}", folder.string()), "make it first");
  if (std::filesystem::is_directory(file, error)) refuse_option(fmt::format("{} is a folder", file.string()), "name a file");
  const bool there = std::filesystem::exists(file, error);
  if (::access(there ? file.c_str() : folder.c_str(), W_OK) != 0)
    refuse_option(fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)), "");
}

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (plain) safe += c;
    else if (!safe.empty() && safe.back() != '-') safe += '-';
  }
  return safe;
}

bool wants_colour() { return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

}  // namespace cli
