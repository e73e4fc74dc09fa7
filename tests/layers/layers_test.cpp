// Holds every #include of the repository against the picture in docs/architecture.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

namespace fs = std::filesystem;

// What a library may include besides itself: everything below it. A library is a folder with its subfolders, less those that are
// libraries themselves.
const std::map<std::string, std::set<std::string>> kBelow{
    {"base", {}},
    {"pcg", {"base"}},
    {"topology", {"base"}},
    {"profiles", {"base", "pcg"}},
    {"profiles/measured", {"base", "pcg", "topology", "profiles"}},
    {"profiles/imports", {"base", "pcg", "topology", "profiles", "profiles/measured"}},
    {"sim", {"base", "pcg", "topology", "profiles"}},
    {"profiles/fit", {"base", "pcg", "topology", "profiles", "profiles/measured", "sim"}},
    {"search/rules", {"base", "pcg"}},
    {"search", {"base", "pcg", "topology", "profiles", "search/rules", "sim"}},
    {"scenarios", {"base", "pcg", "topology", "profiles", "search/rules", "sim", "search"}},
    {"scenarios/comparison",
     {"base", "pcg", "topology", "profiles", "profiles/measured", "profiles/imports", "profiles/fit", "search/rules", "sim", "search",
      "scenarios"}},
    {"scenarios/confidence",
     {"base", "pcg", "topology", "profiles", "profiles/measured", "profiles/imports", "profiles/fit", "sim", "search", "scenarios"}},
    {"reports",
     {"base", "pcg", "topology", "profiles", "profiles/measured", "profiles/imports", "profiles/fit", "search/rules", "sim", "search",
      "scenarios", "scenarios/comparison", "scenarios/confidence"}},
    {"cli",
     {"base", "pcg", "topology", "profiles", "profiles/measured", "profiles/imports", "profiles/fit", "search/rules", "sim", "search",
      "scenarios", "scenarios/comparison", "scenarios/confidence", "reports"}},
    {"tools/collector", {}},
};

constexpr std::size_t kMostLines = 450;   // of a file: one idea each
constexpr std::size_t kMostSources = 24;  // of a folder itself: what a person takes in at a glance

struct Include {
  std::string file;    // "sim/oracle.cpp"
  std::string header;  // "base/units.hpp", "simgrid/s4u.hpp"
  bool quoted;         // ours: "..."; else <...>
};

// Files of the libraries with one of these extensions, in order.
std::vector<std::string> files_with(const std::set<std::string>& extensions) {
  std::vector<std::string> files;
  const fs::path root = SOURCE_DIRECTORY;
  for (const auto& [library, below] : kBelow)
    for (const auto& entry : fs::recursive_directory_iterator(root / library))
      if (extensions.contains(entry.path().extension())) files.push_back(fs::relative(entry.path(), root).generic_string());
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());  // of a library inside another's folder
  return files;
}

std::vector<std::string> source_files() { return files_with({".hpp", ".cpp"}); }

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(fs::path(SOURCE_DIRECTORY) / file);
  REQUIRE(in);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Include> all_includes() {
  std::vector<Include> includes;
  for (const std::string& file : source_files())
    for (const std::string& line : lines_of(file)) {
      if (!line.starts_with("#include")) continue;
      const std::size_t from = line.find_first_of("\"<") + 1;
      includes.push_back({file, line.substr(from, line.find_first_of("\">", from) - from), line[from - 1] == '"'});
    }
  return includes;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

// The library of a file: the longest folder above it that is one. Empty where there is none.
std::string library_of(const std::string& path) {
  std::string folder = folder_of(path);
  while (!kBelow.contains(folder)) {
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return "";
    folder.resize(slash);
  }
  return folder;
}

bool allowed(const Include& include) {
  if (include.quoted) {
    const std::string from = library_of(include.file), to = library_of(include.header);
    return from == to || kBelow.at(from).contains(to);
  }
  const std::string to = first_folder(include.header);
  // Third parties stay behind the one place that knows them.
  if (to == "simgrid" || to == "xbt") return include.file.starts_with("sim/engine/");
  if (to == "yaml-cpp") return include.file.starts_with("base/yaml");
  if (to == "mpi.h") return include.file == "cli/ranks/ranks_mpi.cpp";
  if (to == "CLI") return include.file.starts_with("cli/");
  if (to == "Eigen") return include.file.starts_with("profiles/fit/");
  if (to == "nlopt.hpp") return include.file.starts_with("profiles/fit/") || include.file.starts_with("scenarios/confidence/fit/");
  if (to == "coin") return false;  // an oracle of the tests
  if (to == "boost") return include.file.ends_with(".cpp");
  if (include.file == "pcg/models/onnx/messages.cpp" && (to == "onnx" || to == "google")) return true;
  if (to == "onnx") return false;
  if (to == "sqlite3.h" || to == "google" || to == "chakra.pb.h") return include.file.starts_with("profiles/imports/");
  if (to == "z3++.h") return include.file.starts_with("search/rules/proof/");
  if (to == "utf8.h") return include.file == "base/utf8.cpp";
  if (to == "pugixml.hpp") return include.file.starts_with("topology/imports/");
  return true;
}

// A word that only this project used for something, or a phrase of them, each in lower case, and the field's term.
struct OldWord {
  std::vector<std::regex> words;
  std::string term;
};

// A line of old_words.txt: a pattern (ECMAScript) for each word of a phrase, two blanks, the term.
std::vector<OldWord> old_words() {
  std::vector<OldWord> result;
  for (const std::string& line : lines_of("tests/layers/old_words.txt")) {
    const std::size_t gap = line.find("  ");
    REQUIRE_MESSAGE(gap != std::string::npos, line);
    OldWord& old = result.emplace_back(std::vector<std::regex>(), line.substr(gap + 2));
    std::istringstream patterns(line.substr(0, gap));
    for (std::string pattern; patterns >> pattern;) old.words.emplace_back(pattern, std::regex::optimize);
  }
  return result;
}

struct Word {
  std::string text;  // an identifier or a word, in lower case
  std::size_t line;  // from 1
};

std::vector<Word> words_of(const std::string& file) {
  std::vector<Word> words;
  const std::vector<std::string> lines = lines_of(file);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    bool inside = false;
    for (const char c : lines[l]) {
      const auto letter = static_cast<unsigned char>(c);
      const bool belongs = std::isalnum(letter) != 0 || c == '_';
      if (belongs && !inside) words.push_back({"", l + 1});
      if (belongs) words.back().text += static_cast<char>(std::tolower(letter));
      inside = belongs;
    }
  }
  return words;
}

// What people read, but for decisions, which are history, and tables of measurements.
std::vector<std::string> files_of_words() {
  std::vector<std::string> files = files_with({".hpp", ".cpp", ".yaml"});
  for (const std::string folder : {"docs/", "docs/formats/"})
    for (const auto& entry : fs::directory_iterator(fs::path(SOURCE_DIRECTORY) / folder))
      if (entry.path().extension() == ".md") files.push_back(folder + entry.path().filename().string());
  files.push_back("README.md");
  return files;
}

}  // namespace

TEST_CASE("a library includes only libraries below it, a third party only where it is at home") {
  const std::vector<Include> includes = all_includes();
  CHECK(includes.size() > 100);  // the search itself works
  for (const Include& include : includes) CHECK_MESSAGE(allowed(include), include.file, " includes ", include.header);
}

TEST_CASE("the engine knows tasks, bytes and devices, and nothing of operators") {
  for (const Include& include : all_includes())
    if (include.file.starts_with("sim/engine/"))
      CHECK_MESSAGE(first_folder(include.header) != "pcg", include.file, " includes ", include.header);
}

TEST_CASE("no file is longer than a person reads") {
  for (const std::string& file : source_files()) CHECK_MESSAGE(lines_of(file).size() <= kMostLines, file);
}

TEST_CASE("no folder holds more sources than a person takes in") {
  std::map<std::string, std::size_t> sources;
  for (const std::string& file : source_files()) ++sources[folder_of(file)];
  for (const auto& [folder, count] : sources) CHECK_MESSAGE(count <= kMostSources, folder, " holds ", count);
}

// Some order of all folders, subfolders too, has every include go down. Kahn's algorithm: what is left over is in a cycle.
TEST_CASE("no two folders include each other, directly or through others") {
  std::map<std::string, std::set<std::string>> below;
  for (const Include& include : all_includes())
    if (include.quoted && folder_of(include.file) != folder_of(include.header))
      below[folder_of(include.file)].insert(folder_of(include.header));
  for (bool shrinks = true; shrinks;) {
    shrinks = std::erase_if(below, [&](const auto& entry) {
                return std::ranges::none_of(entry.second, [&](const std::string& folder) { return below.contains(folder); });
              }) > 0;
  }
  for (const auto& [folder, includes] : below) CHECK_MESSAGE(false, folder, " is in a cycle of folders, or above one");
}

// No answer may take the place of a question (docs/reliability.md).
TEST_CASE("what opens files to read says which, and answers are written in one place") {
  for (const std::string& file : source_files()) {
    if (library_of(file) == "tools/collector") continue;
    std::string text;
    for (const std::string& line : lines_of(file)) text += line + "\n";
    const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
    const bool reads = has("std::ifstream in(") || has("file_.open(") || has("sqlite3_open");
    CHECK_MESSAGE((!reads || has("note_input(")), file, " reads a file");
    CHECK_MESSAGE(!has("std::ofstream"), file, " writes a file");
  }
}

// doctest's comparison adds an absolute slack, below which every time in seconds is equal to every other.
TEST_CASE("tests compare real numbers by test::about alone") {
  const std::string bare = std::string("doctest::") + "Approx";
  std::size_t users = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SOURCE_DIRECTORY) / "tests")) {
    if (entry.path().extension() != ".hpp" && entry.path().extension() != ".cpp") continue;
    const std::string file = fs::relative(entry.path(), SOURCE_DIRECTORY).generic_string();
    bool compares = false;
    for (const std::string& line : lines_of(file)) {
      CHECK_MESSAGE(line.find(bare) == std::string::npos, file, ": ", line);
      compares = compares || line.find("about(") != std::string::npos;
    }
    users += compares ? 1 : 0;
  }
  CHECK(users > 100);  // the search itself works
}

TEST_CASE("the field's words in names and texts") {
  const std::vector<OldWord> old = old_words();
  std::unordered_map<std::string, std::vector<const OldWord*>> begins;  // by word: those of which it is the first
  for (const std::string& file : files_of_words()) {
    const std::vector<Word> words = words_of(file);
    for (std::size_t w = 0; w < words.size(); ++w) {
      const auto [known, is_new] = begins.try_emplace(words[w].text);
      for (std::size_t o = 0; is_new && o < old.size(); ++o)
        if (std::regex_match(words[w].text, old[o].words[0])) known->second.push_back(&old[o]);
      for (const OldWord* o : known->second) {
        std::string found = words[w].text;
        bool all = true;
        for (std::size_t i = 1; i < o->words.size() && all; ++i) {
          all = w + i < words.size() && std::regex_match(words[w + i].text, o->words[i]);
          if (all) found += " " + words[w + i].text;
        }
        CHECK_MESSAGE(!all, file, ":", words[w].line, ": \"", found, "\", write: ", o->term);
      }
    }
  }
  CHECK(begins.size() > 10'000);  // the search itself works
}
