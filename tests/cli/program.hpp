#pragma once
// The program as a user calls it: what it prints where, and how it ends.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace fs = std::filesystem;

// A folder of its own for each test, gone afterwards.
struct Folder {
  inline static int made = 0;
  fs::path path = fs::temp_directory_path() / ("foreshard-cli-test-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path / name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
};

// A Kineto trace of one product and one all-reduce.
inline const std::string kTrace = R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 10, "dur": 50, "args":
    {"External id": 2, "Input Dims": [[64, 128], [128, 256]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
  {"ph": "X", "cat": "kernel", "name": "gemm_bf16", "pid": 0, "tid": 7, "ts": 100, "dur": 20, "args": {"External id": 2, "device": 0, "stream": 7}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 20, "ts": 130, "dur": 40, "args":
    {"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "BFloat16", "Group size": 8}}]})";

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline Outcome call(const Folder& folder, const std::string& arguments) {
  const std::string command =
      std::string(FORESHARD_PROGRAM) + " " + arguments + " >" + (folder.path / "out").string() + " 2>" + (folder.path / "err").string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}
