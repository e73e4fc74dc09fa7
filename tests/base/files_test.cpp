#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "base/diagnostics.hpp"
#include "base/files/output_file.hpp"
#include "base/files/used_files.hpp"

namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, gone afterwards.
struct FilesFolder {
  inline static int made = 0;
  fs::path path = fs::temp_directory_path() / ("foreshard-base-test-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  FilesFolder() { fs::create_directories(path); }
  ~FilesFolder() { fs::remove_all(path); }
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path / name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  [[nodiscard]] std::ptrdiff_t count() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const base::InputError& e) { return e.what(); }
  return "";
}

// How a process of its own ends in which `act` runs; "" where it threw nothing.
std::string told_by_child(const std::function<void()>& act, int& status) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = refusal_of(act);
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  char buffer[4096];
  const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ::waitpid(child, &status, 0);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

mode_t mode_of(const fs::path& file) {
  struct stat s {};
  REQUIRE(::stat(file.c_str(), &s) == 0);
  return s.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a file is written anew with the permissions that it had, a new one with the user's") {
  const FilesFolder f;
  const fs::path old = f.write("old", "before");
  fs::permissions(old, fs::perms(0640));
  base::write_file(old, "after");
  CHECK(f.read("old") == "after");
  CHECK(mode_of(old) == 0640);
  const mode_t mask = ::umask(027);
  base::write_file(f.path / "new", "");
  ::umask(mask);
  CHECK(mode_of(f.path / "new") == 0640);
  CHECK(f.count() == 2);
}

TEST_CASE("a link stays a link: what it leads to is written, there or not, over several links") {
  const FilesFolder f;
  fs::create_directory(f.path / "deep");
  fs::create_symlink("deep/file", f.path / "near");
  fs::create_symlink(f.path / "near", f.path / "far");
  for (const std::string text : {"first", "second"}) {
    base::write_file(f.path / "far", text);
    CHECK(f.read("deep/file") == text);
  }
  CHECK(fs::is_symlink(f.path / "far"));
  CHECK(fs::is_symlink(f.path / "near"));
  fs::create_symlink("round", f.path / "round");
  CHECK(refusal_of([&] { base::write_file(f.path / "round", "x"); }).find("round: cannot be written") != std::string::npos);
}

TEST_CASE("devices, pipes and descriptors that are open are written directly") {
  const FilesFolder f;
  base::write_file("/dev/null", "x");
  CHECK(refusal_of([] { base::write_file("/dev/full", "x"); }) == "/dev/full: cannot be written: No space left on device");
  REQUIRE(::mkfifo((f.path / "pipe").c_str(), 0600) == 0);
  const int reader = ::open((f.path / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  base::write_file(f.path / "pipe", "through");
  char got[16] = {};
  CHECK(::read(reader, got, sizeof got) == 7);
  ::close(reader);
  CHECK(fs::is_fifo(f.path / "pipe"));
  const fs::path log = f.write("log", "line 1\n");
  const int appended = ::open(log.c_str(), O_WRONLY | O_APPEND);
  base::write_file("/dev/fd/" + std::to_string(appended), "line 2\n");
  ::close(appended);
  CHECK(f.read("log") == "line 1\nline 2\n");  // neither emptied nor replaced
}

TEST_CASE("what cannot be written leaves the old file as it was and nothing beside it, and says why") {
  const FilesFolder f;
  const fs::path old = f.write("old", "before");
  fs::create_directory(f.path / "folder");
  CHECK(refusal_of([&] { base::write_file(f.path / "folder", "x"); }) ==
        (f.path / "folder").string() + ": cannot be written: Is a directory");
  CHECK(refusal_of([&] { base::write_file(old / "x", "x"); }).find("Not a directory") != std::string::npos);
  CHECK(refusal_of([&] { base::write_file(f.path / "none" / "x", "x"); }).find("No such file or directory") != std::string::npos);
  CHECK(refusal_of([&] { base::write_file("/proc/x", "x"); }).find("/proc/x: cannot be written: ") != std::string::npos);
  // A disk that is full in the middle: the write is cut short, the next one fails.
  int status = 0;
  const std::string said = told_by_child(
      [&] {
        const rlimit most{100'000, 100'000};
        (void)::setrlimit(RLIMIT_FSIZE, &most);
        (void)std::signal(SIGXFSZ, SIG_IGN);
        base::write_file(old, std::string(1 << 20, 'x'));
      },
      status);
  CHECK(said == old.string() + ": cannot be written: it is larger than this process may write (ulimit -f)");
  CHECK(f.read("old") == "before");
  CHECK(f.count() == 2);
}

TEST_CASE("killed between write and rename: the old file is as it was, and the next one is written") {
  const FilesFolder f;
  const fs::path old = f.write("old", "before");
  int status = 0;
  (void)told_by_child(
      [&] {
        base::OutputFile out(old);
        out.write("after");
        ::raise(SIGKILL);
      },
      status);
  CHECK(WIFSIGNALED(status));
  CHECK(f.read("old") == "before");
  base::write_file(old, "after");
  CHECK(f.read("old") == "after");
}

TEST_CASE("an output that is given up is not there") {
  const FilesFolder f;
  const fs::path old = f.write("old", "before");
  {
    base::OutputFile out(old);
    out.write("after");
  }
  CHECK(f.read("old") == "before");
  CHECK(f.count() == 1);
}

TEST_CASE("a file that is read is no output, an output is not read, whatever they are called") {
  const FilesFolder f;
  const fs::path read = f.write("read", ""), written = f.write("written", "");
  fs::create_symlink("read", f.path / "link");
  fs::create_hard_link(read, f.path / "hard");
  fs::create_symlink("written", f.path / "out");
  base::note_input(read);
  for (const char* name : {"read", "./read", "link", "hard"})
    CHECK(refusal_of([&] { base::note_output(f.path / name, "--json"); }) ==
          read.string() + ": is read, and --json would overwrite it\n       choose another file for --json");
  base::note_output(f.path / "out", "--csv");
  CHECK(refusal_of([&] { base::note_input(written); }) ==
        written.string() + ": is read, and --csv would overwrite it\n       choose another file for --csv");
  base::note_output("/dev/null", "--csv");
  base::note_input("/dev/null");
  base::note_output(f.path / "none", "--csv");
  base::note_input(f.path / "none");
}
