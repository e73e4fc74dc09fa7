#include "base/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"

namespace base {
namespace {

constexpr mode_t kPermissions = 0666;  // of a new file, less the user's umask
constexpr int kMostLinks = 40;         // one after another, as the kernel follows

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

std::filesystem::path canonical_folder_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(folder_of(file), error);
  return error ? std::filesystem::path() : folder;
}

// Links there lead to open files, of which a name may say nothing: /dev/stdout is one of them.
bool is_in_proc(const std::filesystem::path& file) { return canonical_folder_of(file).string().starts_with("/proc/"); }

std::filesystem::path last_of_links(std::filesystem::path file) {
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(file, error) && !is_in_proc(file); ++i) {
    const std::filesystem::path to = std::filesystem::read_symlink(file, error);
    if (error) break;
    file = to.is_absolute() ? to : folder_of(file) / to;
  }
  return file;
}

// A descriptor of this process by its name in /proc: what is open already is neither opened again nor emptied. -1: it is none.
int own_descriptor(const std::filesystem::path& file) {
  if (canonical_folder_of(file) != fmt::format("/proc/{}/fd", ::getpid())) return -1;
  const std::string name = file.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? ::dup(number) : -1;
}

}  // namespace

std::optional<std::filesystem::path> regular_target(const std::filesystem::path& file) {
  const std::filesystem::path target = last_of_links(file);
  struct stat s {};
  const bool is_there = ::stat(target.c_str(), &s) == 0;
  std::error_code error;
  const bool is_round = std::filesystem::is_symlink(target, error);  // a link that leads to itself is not replaced either
  return is_round || is_in_proc(target) || (is_there && !S_ISREG(s.st_mode)) ? std::nullopt : std::optional(target);
}

OutputFile::OutputFile(const std::filesystem::path& file) : name_(file), target_(last_of_links(file)) {
  if (regular_target(file)) {
    open_beside();
    return;
  }
  descriptor_ = own_descriptor(target_);
  if (descriptor_ < 0) descriptor_ = ::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor_ < 0) refuse(errno);
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!beside_.empty()) ::unlink(beside_.c_str());
  beside_.clear();
}

void OutputFile::open_beside() {
  struct stat old {};
  const bool is_there = ::stat(target_.c_str(), &old) == 0;
  if (is_there && ::access(target_.c_str(), W_OK) != 0) refuse(errno);
  static int made = 0;
  do {  // a file of this name may be left from a process that was killed
    beside_ = folder_of(target_) / fmt::format(".foreshard-{}-{}", ::getpid(), ++made);
    descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPermissions);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    beside_.clear();  // it is not ours
    const bool is_forbidden = errno == EACCES || errno == EROFS;
    refuse(errno, is_forbidden ? "an answer is written beside the old file first, so its folder has to be writable" : "");
  }
  if (!is_there) return;
  // Root and members of a group write files of others, which stay theirs where the system allows it.
  if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) (void)!::fchown(descriptor_, old.st_uid, old.st_gid);
  if (::fchmod(descriptor_, old.st_mode & 07777U) != 0) refuse(errno);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputFile::commit() {
  // Devices and pipes have nothing to flush and say so.
  if (!beside_.empty() && ::fsync(descriptor_) != 0) refuse(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) refuse(errno);
  if (beside_.empty()) return;
  if (::rename(beside_.c_str(), target_.c_str()) != 0) refuse(errno);
  beside_.clear();
  // The folder's entry, too, outlives a loss of power; where a file system cannot do that, the file is whole all the same.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

void OutputFile::refuse(int error, std::string_view hint) {
  discard();
  const char* why = error == EFBIG ? "it is larger than this process may write (ulimit -f)" : std::strerror(error);
  base::refuse(name_.string(), fmt::format("cannot be written: {}", why), std::string(hint));
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  OutputFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace base
