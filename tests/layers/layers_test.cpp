// Holds every #include of the repository against the picture in docs/architecture.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// What a folder may include besides itself: everything below it.
const std::map<std::string, std::set<std::string>> kBelow{
    {"base", {}},
    {"pcg", {"base"}},
    {"topology", {"base"}},
    {"profiles", {"base", "pcg"}},
    {"collector", {}},
    {"measurements", {"base", "pcg", "topology", "profiles"}},
    {"imports", {"base", "pcg", "topology", "profiles", "measurements"}},
    {"substitutions", {"base", "pcg"}},
    {"sim", {"base", "pcg", "topology", "profiles"}},
    {"search", {"base", "pcg", "topology", "profiles", "substitutions", "sim"}},
    {"scenarios", {"base", "pcg", "topology", "profiles", "substitutions", "sim", "search"}},
    {"calibration", {"base", "pcg", "topology", "profiles", "measurements", "sim", "search", "scenarios"}},
    {"validation", {"base", "pcg", "topology", "profiles", "measurements", "sim", "search", "scenarios", "calibration"}},
    {"reports",
     {"base", "pcg", "topology", "profiles", "measurements", "imports", "substitutions", "sim", "search", "scenarios", "calibration",
      "validation"}},
    {"cli",
     {"base", "pcg", "topology", "profiles", "measurements", "imports", "substitutions", "sim", "search", "scenarios", "calibration",
      "validation", "reports"}},
};

constexpr std::size_t kMostLines = 450;   // of a file: one idea each
constexpr std::size_t kMostSources = 24;  // of a folder itself: what a person takes in at a glance

struct Include {
  std::string file;    // "sim/oracle.cpp"
  std::string header;  // "base/units.hpp", "simgrid/s4u.hpp"
  bool quoted;         // ours: "..."; else <...>
};

std::vector<std::string> source_files() {
  std::vector<std::string> files;
  const fs::path root = SOURCE_DIRECTORY;
  for (const auto& [folder, below] : kBelow)
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp")
        files.push_back(fs::relative(entry.path(), root).generic_string());
  std::ranges::sort(files);
  return files;
}

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

bool allowed(const Include& include) {
  const std::string from = first_folder(include.file), to = first_folder(include.header);
  if (include.quoted) return from == to || kBelow.at(from).contains(to);
  // Third parties stay behind the one place that knows them.
  if (to == "simgrid" || to == "xbt") return include.file.starts_with("sim/engine/");
  if (to == "yaml-cpp") return include.file.starts_with("base/yaml");
  if (to == "mpi.h") return include.file == "cli/ranks/ranks_mpi.cpp";
  if (to == "CLI") return include.file.starts_with("cli/");
  if (to == "Eigen" || to == "nlopt.hpp") return include.file.starts_with("calibration/");
  if (to == "coin") return include.file == "search/milp/cbc.cpp";
  if (to == "boost") return include.file.ends_with(".cpp");
  if (to == "onnx") return include.file == "pcg/models/onnx/messages.cpp";
  if (to == "sqlite3.h" || to == "google" || to == "chakra.pb.h") return include.file.starts_with("imports/");
  if (to == "z3++.h") return include.file == "substitutions/axioms/symbolic.cpp" || include.file.starts_with("substitutions/proof/");
  if (to == "utf8.h") return include.file == "base/utf8.cpp";
  if (to == "pugixml.hpp") return include.file.starts_with("topology/imports/");
  return true;
}

}  // namespace

TEST_CASE("a folder includes only folders below it, a third party only where it is at home") {
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

// A folder may include what is below it in some order of all folders, subfolders too. Kahn's algorithm: what is left over is in a cycle.
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
    if (first_folder(file) == "collector") continue;
    std::string text;
    for (const std::string& line : lines_of(file)) text += line + "\n";
    const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
    const bool reads = has("std::ifstream in(") || has("file_.open(") || has("sqlite3_open");
    CHECK_MESSAGE((!reads || has("note_input(")), file, " reads a file");
    CHECK_MESSAGE(!has("std::ofstream"), file, " writes a file");
  }
}
