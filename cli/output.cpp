#include "cli/output.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/diagnostics.hpp"

namespace cli {

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
