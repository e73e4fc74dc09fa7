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
