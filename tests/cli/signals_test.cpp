// What happens to a run with workers when it, or one of them, is ended from outside.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "program.hpp"

namespace {

using namespace std::chrono_literals;

// A search of minutes beside a plan of milliseconds.
const std::string kLongScenario =
    "foreshard: 1\nname: long\nmodel: {builtin: gpt3-2.6b}\ncluster: {preset: dgx-a100-80gb, nodes: 8}\ntraining: {global_batch: 2048, "
    "precision: bf16, optimizer: adam}\nplans: [{unity: {budget: 600 s, graphs: 1000000}}, {name: again, unity: {budget: 600 s, "
    "graphs: 1000000}}]\n";

class Started {
 public:
  Started(const Folder& f, const std::vector<std::string>& arguments) : folder_(f) {
    process_ = ::fork();
    if (process_ != 0) return;
    const int out = ::open((f.path / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = ::open((f.path / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    std::vector<const char*> words = {FORESHARD_PROGRAM};
    for (const std::string& a : arguments) words.push_back(a.c_str());
    words.push_back(nullptr);
    ::execv(FORESHARD_PROGRAM, const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  ~Started() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  void send(int signal) const { ::kill(process_, signal); }
  // Waits until there are so many worker processes. Returns them.
  [[nodiscard]] std::vector<pid_t> workers(std::size_t count) const {
    std::vector<pid_t> found;
    for (int i = 0; i < 3000 && found.size() < count; ++i) {
      std::this_thread::sleep_for(10ms);
      std::ifstream in("/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) + "/children");
      found.clear();
      for (pid_t p = 0; in >> p;) found.push_back(p);
    }
    REQUIRE(found.size() >= count);
    return found;
  }
  // Exit status, or minus the signal that ended it.
  Outcome wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), folder_.read("out"), folder_.read("err")};
  }

 private:
  const Folder& folder_;
  pid_t process_ = 0;
};

bool all_end(const std::vector<pid_t>& processes) {
  for (int i = 0; i < 1000; ++i) {
    bool any = false;
    for (const pid_t p : processes) {
      std::ifstream in("/proc/" + std::to_string(p) + "/stat");
      std::string text;
      std::getline(in, text);
      any = any || (!text.empty() && text.substr(text.rfind(')') + 2, 1) != "Z");
    }
    if (!any) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

// Waits until each has used so many hundredths of a second of processor time, and so is past its first steps, of which one has the system
// end it with its parent.
void wait_until_at_work(const std::vector<pid_t>& processes, long hundredths = 5) {
  for (const pid_t p : processes)
    for (int i = 0; i < 6000; ++i) {
      std::ifstream in("/proc/" + std::to_string(p) + "/stat");
      std::string text;
      std::getline(in, text);
      if (text.empty()) break;
      std::istringstream fields(text.substr(text.rfind(')') + 2));
      std::string skipped;
      for (int field = 0; field < 11; ++field) fields >> skipped;  // state and the ten fields behind it, up to utime
      long ticks = 0;
      fields >> ticks;
      if (ticks * 100 >= hundredths * ::sysconf(_SC_CLK_TCK)) break;
      std::this_thread::sleep_for(10ms);
    }
}

// Waits until a process no longer catches a signal: the program takes the first one as a wish, after which the next ends it.
void wait_until_not_caught(pid_t process, int signal) {
  for (int i = 0; i < 6000; ++i) {
    std::ifstream in("/proc/" + std::to_string(process) + "/status");
    for (std::string word; in >> word;) {
      if (word != "SigCgt:") continue;
      std::string mask;
      in >> mask;
      if ((std::stoull(mask, nullptr, 16) >> (signal - 1)) % 2 == 0) return;
    }
    std::this_thread::sleep_for(10ms);
  }
  FAIL("the first signal was not noticed");
}

}  // namespace

TEST_CASE("workers end with the program that is killed, by whatever signal") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kLongScenario);
  Started run(f, {"run", scenario, "--jobs", "2"});
  const std::vector<pid_t> workers = run.workers(2);
  run.send(SIGKILL);
  CHECK(run.wait().code == -SIGKILL);
  CHECK(all_end(workers));
}

TEST_CASE("the first signal ends searches with their best, and all is written; the exit is 128 and the signal") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kLongScenario);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    for (const std::string jobs : {"1", "2"}) {
      CAPTURE(signal);
      CAPTURE(jobs);
      Started run(f, {"run", scenario, "--jobs", jobs, "--json", (f.path / "r.json").string()});
      wait_until_at_work(jobs == "2" ? run.workers(2) : std::vector{run.process()}, 50);
      run.send(signal);
      const Outcome o = run.wait();
      CHECK(o.code == 128 + signal);
      CHECK(o.err == "");
      CHECK(o.out.find("interrupted") != std::string::npos);
      CHECK(nlohmann::json::parse(f.read("r.json"))["runs"].size() == 2);
      fs::remove(f.path / "r.json");
    }
}

TEST_CASE("the second signal ends the program and its workers at once, and nothing is half-written") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kLongScenario);
  Started run(f, {"run", scenario, "--jobs", "2", "--json", (f.path / "r.json").string()});
  const std::vector<pid_t> workers = run.workers(2);
  wait_until_at_work(workers);
  for (const pid_t p : workers) ::kill(p, SIGSTOP);  // they hang: the first signal alone would be waited out
  run.send(SIGINT);
  wait_until_not_caught(run.process(), SIGTERM);
  run.send(SIGTERM);
  CHECK(run.wait().code == -SIGTERM);
  CHECK(all_end(workers));
  CHECK(!fs::exists(f.path / "r.json"));
}

TEST_CASE("a worker that is killed is done again; killed again it is said, the others' answers are kept, exit 4") {
  const Folder f;
  const std::string scenario = f.write(
      "s.yaml", kLongScenario.substr(0, kLongScenario.find("{name: again")) + "{name: short, megatron: {tensor: 8, micro_batch: 1}}]\n");
  for (const bool twice : {false, true}) {
    const fs::path kept = f.path / "kept";
    Started run(f, {"run", scenario, "--jobs", "2", "--json", (f.path / "r.json").string(), "--resume", kept.string()});
    const pid_t first = run.workers(1).front();
    for (int i = 0; i < 6000 && (!fs::exists(kept) || fs::is_empty(kept)); ++i)
      std::this_thread::sleep_for(10ms);  // the short one's answer
    // Its worker ends, too, so that the next one is the one that begins again.
    for (int i = 0; i < 3000 && run.workers(1).size() > 1;) ++i;
    ::kill(first, SIGKILL);
    pid_t second = first;
    while (second == first) second = run.workers(1).front();
    wait_until_at_work({second});
    if (twice) ::kill(second, SIGKILL);
    else run.send(SIGINT);
    const Outcome o = run.wait();
    CHECK(o.code == (twice ? 4 : 128 + SIGINT));
    CHECK(o.err == "");
    CHECK(o.out.find("bug") == std::string::npos);
    CHECK(o.out.find("Killed") != std::string::npos);
    const nlohmann::json runs = nlohmann::json::parse(f.read("r.json"))["runs"];
    CHECK((runs[0]["status"] == "lost") == twice);
    CHECK(runs[1]["status"] == "ok");
    fs::remove_all(kept);
  }
}

TEST_CASE("no memory left is said, and is no bug") {
  const Folder f;
  std::string table = "cluster,nodes,gpus,kind,bytes,seconds\n";
  for (int i = 0; i < 600'000; ++i) table += "dgx-h100,1,8,all_reduce,1e9,0.004\n";
  const std::string command = "(ulimit -v 200000; exec " + std::string(FORESHARD_PROGRAM) + " validate " + f.write("t.csv", table) + ") >" +
                              (f.path / "out").string() + " 2>" + (f.path / "err").string();
  const int status = std::system(command.c_str());
  // Sanitizers cannot even start with so little.
  if (f.read("err").find("Sanitizer") != std::string::npos) return;
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(f.read("err").starts_with("foreshard: no memory is left for this\n"));
}
