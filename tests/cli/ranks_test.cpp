// Sweeps under an MPI launcher, and answers that outlive the processes that gave them.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "program.hpp"

namespace {

const std::string kSweep =
    "foreshard: 1\nname: sweep\n"
    "model: {transformer: {layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence_length: 512}}\n"
    "cluster: {preset: dgx-a100-80gb, nodes: 2}\n"
    "training: {global_batch: 64, precision: bf16}\n"
    "plans: [data-parallel, {megatron: search}]\n"
    "sensitivity: true\n"
    "what_if: [{name: s, sweep: {cluster.links.infiniband.bandwidth: [0.5x, 1x, 2x], cluster.links.nvlink.bandwidth: [1x, 2x]}}]\n";

// The JSON without what clocks measured.
std::string timeless(const std::string& text) {
  nlohmann::json j = nlohmann::json::parse(text);
  for (auto& run : j.at("runs")) run.erase("search_time_s"), run.erase("simulation_time_s");
  return j.dump();
}

// A test runs as root in a container more often than not, on fewer cores than ranks. Open MPI frees not all of what it allocates, in
// plugins that are unloaded before LeakSanitizer could name them: ranks of a build with sanitizers look for everything but leaks.
Outcome call_on_ranks(const Folder& folder, int ranks, const std::string& arguments) {
  const std::string command = "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n " +
                              std::to_string(ranks) + " " + FORESHARD_PROGRAM + " " + arguments + " >" + (folder.path / "out").string() +
                              " 2>" + (folder.path / "err").string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

bool has_mpirun() {
  const bool there = FORESHARD_HAS_MPI && std::system("command -v mpirun >/dev/null") == 0;
  if (!there) MESSAGE("skipped: built without MPI, or there is no mpirun (libopenmpi-dev, openmpi-bin)");
  return there;
}

}  // namespace

TEST_CASE("ranks of MPI give the answer of one process, once") {
  if (!has_mpirun()) return;
  const Folder f;
  const std::string scenario = f.write("s.yaml", kSweep), json = (f.path / "r.json").string();
  REQUIRE(call(f, "run " + scenario + " --quiet --json " + json).code == 0);
  const std::string alone = timeless(f.read("r.json"));
  for (const int ranks : {2, 3}) {
    fs::remove(json);
    CHECK(call_on_ranks(f, ranks, "run " + scenario + " --quiet --json " + json).code == 0);
    CHECK(timeless(f.read("r.json")) == alone);
  }
  const Outcome printed = call_on_ranks(f, 2, "run " + scenario);
  const std::size_t first = printed.out.find("best: ");
  CHECK(first != std::string::npos);
  CHECK(printed.out.find("best: ", first + 1) == std::string::npos);
}

TEST_CASE("what is wrong is said once, by the first rank") {
  if (!has_mpirun()) return;
  const Folder f;
  const Outcome o = call_on_ranks(f, 3, "run " + f.write("s.yaml", kSweep + "plan: []\n"));
  CHECK(o.code == 2);
  const std::size_t first = o.err.find("unknown key \"plan\"");
  CHECK(first != std::string::npos);
  CHECK(o.err.find("unknown key", first + 1) == std::string::npos);
}

TEST_CASE("srun without PMIx is told what to write") {
  if (!has_mpirun()) return;
  const Folder f;
  const std::string scenario = f.write("s.yaml", kSweep);
  const int status =
      std::system(("env -u PMIX_RANK -u OMPI_COMM_WORLD_RANK SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 " FORESHARD_PROGRAM " run " + scenario +
                   " 2>" + (f.path / "err").string())
                      .c_str());
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(f.read("err") ==
        "srun started several of this program without PMIx, so they cannot reach each other\n       write srun --mpi=pmix; srun --mpi=list "
        "says what this Slurm has\n");
}

TEST_CASE("ranks go on where others were ended, and with what one process has kept") {
  if (!has_mpirun()) return;
  const Folder f;
  const std::string scenario = f.write("s.yaml", kSweep), json = (f.path / "r.json").string(), kept = (f.path / "kept").string();
  REQUIRE(call(f, "run " + scenario + " --quiet --resume " + kept + " --json " + json).code == 0);
  const std::string alone = timeless(f.read("r.json"));
  std::size_t i = 0;
  for (const auto& e : fs::directory_iterator(kept))
    if (++i % 3 == 0) fs::remove(e.path());
  CHECK(call_on_ranks(f, 3, "run " + scenario + " --quiet --resume " + kept + " --json " + json).code == 0);
  CHECK(timeless(f.read("r.json")) == alone);
}

TEST_CASE("killed in the middle and resumed: the bytes of an undisturbed run") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kSweep), json = (f.path / "r.json").string(), kept = (f.path / "kept").string();
  REQUIRE(call(f, "run " + scenario + " --quiet --jobs 2 --json " + json).code == 0);
  const std::string alone = timeless(f.read("r.json"));
  // After each so many answers the whole group of processes is killed.
  for (const std::size_t answers : {1U, 4U, 9U}) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::setpgid(0, 0);
      ::execl("/bin/sh", "sh", "-c", ("exec " FORESHARD_PROGRAM " run " + scenario + " --quiet --jobs 2 --resume " + kept).c_str(),
              nullptr);
      ::_exit(127);
    }
    for (int wait = 0; wait < 3000; ++wait) {
      const bool is_there = fs::exists(kept);
      if (is_there && static_cast<std::size_t>(std::distance(fs::directory_iterator(kept), fs::directory_iterator())) >= answers) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::kill(-process, SIGKILL);
    ::kill(process, SIGKILL);
    int status = 0;
    ::waitpid(process, &status, 0);
  }
  CHECK(call(f, "run " + scenario + " --quiet --jobs 2 --resume " + kept + " --json " + json).code == 0);
  CHECK(timeless(f.read("r.json")) == alone);
}
