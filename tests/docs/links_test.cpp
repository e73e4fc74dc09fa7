// Links between our own documents lead somewhere, and sources that they name are there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/docs/file_text.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  std::vector<fs::path> all;
  for (const char* const name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) all.push_back(fs::path(SOURCE_DIRECTORY) / name);
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SOURCE_DIRECTORY) / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

// As GitHub makes them: letters, digits and dashes of a heading, blanks as dashes.
bool has_heading(const std::string& text, const std::string& anchor) {
  static const std::regex heading("(^|\n)#+ ([^\n]*)");
  for (std::sregex_iterator it(text.begin(), text.end(), heading), end; it != end; ++it) {
    std::string made;
    for (const char c : (*it)[2].str()) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
        made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c == ' ') made += '-';
    }
    if (made == anchor) return true;
  }
  return false;
}

// Terms of rules look like links.
std::string without_code(std::string text) {
  for (const std::string fence : {"```", "`"})
    for (std::size_t from = text.find(fence); from != std::string::npos; from = text.find(fence, from)) {
      const std::size_t end = text.find(fence, from + fence.size());
      if (end == std::string::npos) break;
      text.erase(from, end + fence.size() - from);
    }
  return text;
}

}  // namespace

TEST_CASE("every relative link leads to a file, and to a heading of it where it names one") {
  static const std::regex link("\\]\\(([^)#:]*)(#[^)]*)?\\)");
  for (const fs::path& document : documents()) {
    const std::string text = without_code(test::text_of(document));
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const std::string file = (*it)[1], anchor = (*it)[2];
      const fs::path target = file.empty() ? document : document.parent_path() / file;
      CHECK_MESSAGE(fs::exists(target), document.string() << ": " << it->str());
      if (!anchor.empty() && fs::exists(target))
        CHECK_MESSAGE(has_heading(test::text_of(target), anchor.substr(1)), document.string() << ": " << it->str());
    }
  }
}

// Paths in code, such as `sim/oracle.hpp`, `search/rules`, `search/planners/alpa/alpa.{hpp,cpp}`. Capitals stand for names to be given.
TEST_CASE("every path that says how the tree is built is in the tree") {
  static const std::regex path("`([a-z_.]+/[a-z0-9_./-]*?)(\\.\\{hpp,cpp\\})?`");
  std::size_t found = 0;
  for (const char* const document : {"README.md", "CONTRIBUTING.md", "docs/architecture.md"}) {
    const std::string text = test::text_of(fs::path(SOURCE_DIRECTORY) / document);
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it) {
      const std::string file = (fs::path(SOURCE_DIRECTORY) / (*it)[1].str()).string();
      const bool is_pair = (*it)[2].matched;
      const bool built = (*it)[1].str().starts_with("build/");
      CHECK_MESSAGE((built || (is_pair ? fs::exists(file + ".hpp") && fs::exists(file + ".cpp") : fs::exists(file))),
                    document << ": " << it->str());
      ++found;
    }
  }
  CHECK(found > 100);
}
