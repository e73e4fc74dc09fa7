// Every whole file that the tutorial and the how-tos show is one that the program takes.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "scenarios/answer/check.hpp"
#include "tests/docs/file_text.hpp"

TEST_CASE("the files shown in the tutorial and the how-tos are sound") {
  namespace fs = std::filesystem;
  const fs::path file = fs::temp_directory_path() / ("foreshard-snippet-" + std::to_string(getpid()) + ".yaml");
  const std::string fence = "```yaml\n";
  for (const std::string name : {"tutorial.md", "how-to.md"}) {
    const std::string text = test::text_of(fs::path(SOURCE_DIRECTORY) / "docs" / name);
    int found = 0;
    for (std::size_t from = text.find(fence); from != std::string::npos; from = text.find(fence, from)) {
      from += fence.size();
      const std::string snippet = text.substr(from, text.find("```", from) - from);
      if (!snippet.starts_with("foreshard: 1")) continue;
      std::ofstream(file) << snippet;
      CAPTURE(name);
      CAPTURE(snippet);
      CHECK(scenarios::check_file(file, 1).sound);
      ++found;
    }
    CHECK(found >= 3);
  }
  fs::remove(file);
}
