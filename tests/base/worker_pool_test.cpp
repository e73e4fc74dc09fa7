#include "base/processes/worker_pool.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/processes/child_process.hpp"

namespace {

using Fate = base::WorkerAnswer::Fate;

// The first process that does this piece leaves a mark, so that the second one knows.
bool is_first_try(const std::filesystem::path& mark) { return !std::filesystem::exists(mark) && std::ofstream(mark).good(); }

// Without the test's own handlers, which report.
int end_by(int signal) {
  (void)std::signal(signal, SIG_DFL);
  return ::raise(signal);
}

// Processes that workers name and that all of them see.
class SharedProcesses {
 public:
  explicit SharedProcesses(std::size_t count)
      : bytes_(count * sizeof(pid_t)), ids_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(ids_ != MAP_FAILED);
  }
  ~SharedProcesses() { ::munmap(ids_, bytes_); }
  SharedProcesses(const SharedProcesses&) = delete;
  SharedProcesses& operator=(const SharedProcesses&) = delete;

  void name(std::size_t i, pid_t process) const { static_cast<volatile pid_t*>(ids_)[i] = process; }
  // Whether each was named, and has ended and been waited for.
  [[nodiscard]] bool all_gone() const {
    const auto* ids = static_cast<const volatile pid_t*>(ids_);
    return std::all_of(ids, ids + bytes_ / sizeof(pid_t), [](pid_t p) { return p != 0 && ::kill(p, 0) != 0; });
  }

 private:
  std::size_t bytes_;
  void* ids_;
};

struct FirstTry {
  std::filesystem::path file = std::filesystem::temp_directory_path() / ("foreshard-pool-test-" + std::to_string(::getpid()));
  ~FirstTry() { std::filesystem::remove(file); }
};

}  // namespace

TEST_CASE("answers come in order, whatever the number of processes, and each is told of once") {
  for (const int jobs : {1, 3}) {
    std::size_t told = 0;
    const auto square = [](std::size_t i) -> nlohmann::json { return i * i; };
    const auto answers = base::run_workers(7, jobs, square, [&](std::size_t i) { told += i; });
    REQUIRE(answers.size() == 7);
    for (std::size_t i = 0; i < answers.size(); ++i) CHECK(answers[i] == i * i);
    CHECK(told == 0 + 1 + 2 + 3 + 4 + 5 + 6);
  }
}

TEST_CASE("no more processes are started than there are jobs; one that dies is replaced and the others' pieces go on") {
  const FirstTry mark;
  const auto process = [&](std::size_t i) -> nlohmann::json {
    if (i == 20 && is_first_try(mark.file)) ::raise(SIGKILL);
    ::usleep(1000);
    return ::getpid();
  };
  const auto answers = base::try_workers(100, 2, process, [](std::size_t) {});
  std::set<nlohmann::json> processes;
  for (const auto& a : answers) {
    REQUIRE(a.fate == Fate::answered);
    processes.insert(a.answer);
  }
  CHECK(processes.size() == 4);  // the first two, the one that took the dead one's place, and one for the piece that is done again
}

TEST_CASE("answers larger than a pipe come whole") {
  const auto text = [](std::size_t i) -> nlohmann::json { return std::string(300'000 + i, 'x'); };
  const auto answers = base::try_workers(5, 2, text, [](std::size_t) {});
  for (std::size_t i = 0; i < answers.size(); ++i) CHECK(answers[i].answer.get_ref<const std::string&>().size() == 300'000 + i);
}

TEST_CASE("bad input stays bad input on its way between processes, and a bug a bug") {
  const auto refused = [](std::size_t) -> nlohmann::json { throw base::InputError({{{}, "model", "is too small", "make it larger"}}); };
  const auto failed = [](std::size_t) -> nlohmann::json { throw std::runtime_error("a bug"); };
  for (const int jobs : {1, 2}) {
    std::string said;
    try {
      (void)base::run_workers(1, jobs, refused, [](std::size_t) {});
    } catch (const base::InputError& e) { said = e.what(); }
    CHECK(said.find("model: is too small") != std::string::npos);
    CHECK(said.find("make it larger") != std::string::npos);
    CHECK_THROWS_WITH(base::run_workers(1, jobs, failed, [](std::size_t) {}), "a bug");
  }
}

TEST_CASE("a worker that is killed is done again, and the others' answers are kept") {
  const FirstTry mark;
  std::size_t told = 0;
  const auto killed_once = [&](std::size_t i) -> nlohmann::json {
    if (i == 1 && is_first_try(mark.file)) ::raise(SIGKILL);
    return i;
  };
  const auto answers = base::try_workers(4, 2, killed_once, [&](std::size_t) { ++told; });
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(answers[i].fate == Fate::answered);
    CHECK(answers[i].answer == i);
    CHECK(answers[i].ended == (i == 1 ? "Killed" : ""));
  }
  CHECK(told == 4);
}

TEST_CASE("killed twice is no bug, a crash is one; what was sent before counts for nothing") {
  const auto fails = [](std::size_t i) -> nlohmann::json {
    if (i == 0) end_by(SIGKILL);
    if (i == 1) end_by(SIGTERM);
    if (i == 2) end_by(SIGABRT);
    if (i == 3) throw std::bad_alloc();
    if (i == 4) ::_exit(0);
    return "here";
  };
  const auto answers = base::try_workers(6, 3, fails, [](std::size_t) {});
  const Fate fates[] = {Fate::ended_from_outside, Fate::ended_from_outside, Fate::crashed,
                        Fate::ended_from_outside, Fate::ended_from_outside, Fate::answered};
  const std::string ended[] = {"Killed", "Terminated", "Aborted", "no memory was left", "exit 0", ""};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(answers[i].fate == fates[i]);
    CHECK(answers[i].ended == ended[i]);
  }
  CHECK(answers[5].answer == "here");
  const auto killed = [](std::size_t) -> nlohmann::json { return end_by(SIGKILL); };
  const auto crashed = [](std::size_t) -> nlohmann::json { return end_by(SIGSEGV); };
  CHECK_THROWS_AS(base::run_workers(2, 2, killed, [](std::size_t) {}), base::LostWorker);
  CHECK_THROWS_AS(base::run_workers(2, 2, crashed, [](std::size_t) {}), base::InternalError);
}

TEST_CASE("a worker that hangs is ended; one that computes, or waits for one that does, is not") {
  // Those that hang are tried again when nothing else runs, so the third computes until their first processes are gone, not their tasks.
  const SharedProcesses hanging(2);
  bool tried_again = false;
  const auto work = [&](std::size_t i) -> nlohmann::json {
    if (i < 2 && !tried_again) hanging.name(i, ::getpid());
    if (i == 0)
      while (true) ::pause();
    if (i == 1) ::raise(SIGSTOP);
    while (!hanging.all_gone()) {}
    return "computed";
  };
  const auto answers = base::try_workers(
      3, 3, work, [&](std::size_t i) { tried_again = tried_again || i == 2; }, std::chrono::milliseconds(600));
  CHECK(answers[0].fate == Fate::ended_from_outside);
  CHECK(answers[0].ended.starts_with("it hung"));
  CHECK(answers[1].fate == Fate::ended_from_outside);
  CHECK(answers[2].answer == "computed");
}

TEST_CASE("workers, and their own children, end with their parent, even if it is killed") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);  // its writing end stays open as long as any of them lives
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::close(ends[0]);
    (void)base::try_workers(
        2, 2,
        [&](std::size_t) -> nlohmann::json {
          base::ChildProcess child([&](const base::ChildProcess::Send&) {
            (void)!::write(ends[1], "x", 1);
            while (true) ::pause();
          });
          while (child.receive()) {}
          return {};
        },
        [](std::size_t) {});
    ::_exit(0);
  }
  ::close(ends[1]);
  char c = 0;
  for (int started = 0; started < 2; ++started) REQUIRE(::read(ends[0], &c, 1) == 1);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  pollfd end{ends[0], POLLIN, 0};
  REQUIRE(::poll(&end, 1, 10'000) == 1);
  CHECK(::read(ends[0], &c, 1) == 0);
  ::close(ends[0]);
}

TEST_CASE("a signal to the parent alone reaches its workers; sent to them, too, it counts once; the next one ends the parent") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    for (const bool again : {false, true}) {
      const pid_t parent = ::fork();
      if (parent == 0) {
        base::note_interruptions();
        const auto answers = base::try_workers(
            2, 2,
            [&](std::size_t i) -> nlohmann::json {
              if (i == 0) ::kill(::getppid(), signal);
              while (!base::interrupted()) ::usleep(100);
              ::raise(signal);  // as a terminal sends it to all
              if (i == 0 && again) ::kill(::getppid(), signal);
              if (again) ::pause();
              return base::interruption();
            },
            [](std::size_t) {});
        ::_exit(answers[0].answer == signal && answers[1].answer == signal ? 7 : 8);
      }
      int status = 0;
      ::waitpid(parent, &status, 0);
      CHECK((again ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && WEXITSTATUS(status) == 7));
    }
}
