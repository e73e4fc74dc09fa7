#include "cli/terminal/output.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/files/output_file.hpp"
#include "base/files/text_file.hpp"
#include "base/files/used_files.hpp"
#include "base/numbers.hpp"
#include "cli/terminal/standard_streams.hpp"

namespace cli {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;  // tables of measurements are a thousandth of it

constexpr std::size_t kLongestName = 100;  // of a plan, and of a variant, in a file's name: together far below the 255 of file systems

// Asking before hours of work is cheaper than failing after them.
void check_writable(const std::filesystem::path& file, const std::string& option) {
  if (file.empty() || file == "-") return;
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error))
    base::refuse(option, fmt::format("there is no folder {}", folder.string()), "make it first");
  if (std::filesystem::is_directory(file, error)) base::refuse(option, fmt::format("{} is a folder", file.string()), "name a file");
  const bool there = std::filesystem::exists(file, error);
  if (error) base::refuse(option, fmt::format("{} cannot be written: {}", file.string(), error.message()));
  const auto target = base::regular_target(file);
  const std::filesystem::path beside = target && target->has_parent_path() ? target->parent_path() : ".";
  if ((there && ::access(file.c_str(), W_OK) != 0) || (target && ::access(beside.c_str(), W_OK | X_OK) != 0))
    base::refuse(option, fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)));
}

// However they are written. Devices take what several write.
bool is_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (a == "-" || b == "-") return a == b;
  const auto canonical = [](const std::string& file) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(file, error);  // for a relative one that is not there stays relative
    const std::filesystem::path path = std::filesystem::weakly_canonical(whole, error);
    return error ? whole.lexically_normal() : path;
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(a, error);
  const bool device = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  return !device && canonical(a) == canonical(b);
}

std::string compressed(const std::string& text) {
  std::string out;
  boost::iostreams::filtering_ostream gzip;
  gzip.push(boost::iostreams::gzip_compressor());
  gzip.push(boost::iostreams::back_inserter(out));
  gzip << text;
  gzip.reset();  // writes what it still holds
  return out;
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  if (base::is_standard_input(file)) return base::read_text_file(file);
  base::note_input(file);
  return read_to_renew(file);
}

std::string read_to_renew(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) base::refuse(file.string(), "no such file");
  if (std::filesystem::file_size(file, error) > kMostBytes) base::refuse(file.string(), "is larger than 256 MiB: no table of measurements");
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) base::refuse(file.string(), "cannot be read");
  return std::move(text).str();
}

std::string read_start(const std::filesystem::path& file, const std::filesystem::path& output) {
  std::error_code error;
  return std::filesystem::equivalent(file, output, error) && !error ? read_to_renew(file) : read_text(file);
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  if (file == "-") {
    print(text);
    return;
  }
  flush_standard_output();  // the file may lead to the same place
  base::write_file(file, file.extension() == ".gz" ? compressed(text) : text);
}

void check_outputs(const std::vector<Output>& outputs) {
  for (const Output& o : outputs) check_writable(o.file, o.option);
  for (auto o = outputs.begin(); o != outputs.end(); ++o)
    for (auto before = outputs.begin(); before != o; ++before)
      if (is_same_file(before->file, o->file))
        base::refuse(o->option, fmt::format("{} writes to {} too", before->option, o->file == "-" ? "standard output" : o->file),
                     "choose another file for one of them");
  for (const Output& o : outputs) base::note_output(o.file, o.option);
}

void check_output_folder(const std::filesystem::path& folder, const std::string& option) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::path there = folder;  // the first around it that is there
  while (!std::filesystem::exists(there, error) && !error && there != ".") there = there.has_parent_path() ? there.parent_path() : ".";
  if (error) base::refuse(option, fmt::format("{} cannot be written: {}", folder.string(), error.message()));
  if (!std::filesystem::is_directory(there, error)) base::refuse(option, fmt::format("{} is no folder", there.string()), "name a folder");
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    base::refuse(option, fmt::format("{} cannot be written: {}", there.string(), std::strerror(errno)));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) base::refuse(folder.string(), fmt::format("cannot be made: {}", error.message()));
}

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    if (safe.empty() && c == '.') continue;  // hidden, or a folder
    if (safe.size() == kLongestName) break;
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (plain) safe += c;
    else if (!safe.empty() && safe.back() != '-') safe += '-';
  }
  return safe.empty() ? "plan" : safe;
}

std::size_t wanted_width() {
  if (const char* given = std::getenv("COLUMNS"))
    if (const auto columns = base::parse_integer(given); columns && *columns > 0) return static_cast<std::size_t>(*columns);
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : reports::TextStyle{}.width;
}

reports::Colour wanted_colour() {
  return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr ? reports::Colour::terminal : reports::Colour::none;
}

}  // namespace cli
