// Every whole file that the tutorial, the how-tos and docs/formats show is one that the program takes.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/diagnostics.hpp"
#include "scenarios/answer/check.hpp"
#include "tests/docs/file_text.hpp"

TEST_CASE("the files shown in the tutorial, the how-tos and docs/formats are sound") {
  namespace fs = std::filesystem;
  const fs::path file = fs::temp_directory_path() / ("foreshard-snippet-" + std::to_string(getpid()) + ".yaml");
  const std::string fence = "```yaml\n";
  const fs::path docs = fs::path(SOURCE_DIRECTORY) / "docs";
  for (const std::string& text : {test::text_of(docs / "tutorial.md"), test::text_of(docs / "how-to.md"), test::formats_text()}) {
    int found = 0;
    for (std::size_t from = text.find(fence); from != std::string::npos; from = text.find(fence, from)) {
      from += fence.size();
      const std::string snippet = text.substr(from, text.find("```", from) - from);
      const bool is_wrong = text.substr(0, from).ends_with("<!-- file: wrong.yaml -->\n" + fence);  // what a message is shown of
      if (!snippet.starts_with("foreshard: 1")) continue;
      std::ofstream(file) << snippet;
      CAPTURE(snippet);
      if (is_wrong) CHECK_THROWS_AS((void)scenarios::check_file(file, 1), base::InputError);
      else CHECK(scenarios::check_file(file, 1).sound);
      ++found;
    }
    CHECK(found >= 3);
  }
  fs::remove(file);
}
