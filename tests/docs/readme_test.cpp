// The README's example and the how-tos' rule are run, so that they stay true.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/docs/file_text.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kMostLines = 40;  // a longer first example would be the interface's fault

// What stands between a fence and its end, from the first place after `after` on.
std::string block(const std::string& document, const std::string& fence, const std::string& after) {
  const std::string text = test::text_of(fs::path(SOURCE_DIRECTORY) / document);
  const std::size_t from = text.find(fence, text.find(after));
  REQUIRE(from != std::string::npos);
  const std::size_t begin = from + fence.size(), end = text.find("```", begin);
  REQUIRE(end != std::string::npos);
  return text.substr(begin, end - begin);
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("foreshard-readme-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("the README's example is short, and the program answers it") {
  const std::string scenario = block("README.md", "```yaml\n", "## Ask a question");
  CHECK(std::ranges::count(scenario, '\n') < kMostLines);

  const Folder folder;
  std::ofstream(folder.path / "example.yaml") << scenario;
  const std::string command = std::string(FORESHARD_PROGRAM) + " run " + (folder.path / "example.yaml").string() + " --quiet --json " +
                              (folder.path / "result.json").string() + " > " + (folder.path / "table.txt").string();
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);

  const auto result = nlohmann::json::parse(test::text_of(folder.path / "result.json"));
  REQUIRE(result.at("runs").size() > 1);
  for (const auto& run : result.at("runs")) {
    CHECK(run.at("status") == "ok");
    CHECK(run.at("iteration_time_s").get<double>() > 0);
  }
}

TEST_CASE("the how-tos' own rule is proved and shown as printed there, but for the time") {
  const Folder folder;
  std::ofstream(folder.path / "mine.yaml") << block("docs/how-to.md", "```yaml\n", "## Prove a rule of our own");
  const std::string command = std::string(FORESHARD_PROGRAM) + " rules show " + (folder.path / "mine.yaml").string() + " inner > " +
                              (folder.path / "shown.txt").string();
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const std::regex time("proved in [0-9.]+ ms");
  CHECK(std::regex_replace(test::text_of(folder.path / "shown.txt"), time, "") ==
        std::regex_replace(block("docs/how-to.md", "```\n", "proves it, and says"), time, ""));
}
