// Every fact that a simulation or a search states has a sentence, in which its values are.
#include "scenarios/answer/wording.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/files/text_file.hpp"

namespace {

using base::Fact;
using base::NoteKind;

std::string text_of(const Fact& fact) { return scenarios::note_of(fact).text; }

// What the pattern's group is in the file.
void add_found(const std::filesystem::path& file, const std::regex& pattern, std::set<std::string>& found) {
  const std::string text = base::read_text_file(file);
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert((*at)[1]);
}

}  // namespace

TEST_CASE("the codes of sim and search are those that have a sentence") {
  const std::filesystem::path root = SOURCE_DIRECTORY;
  const std::regex fact(R"re((?:Fact|notes\.emplace_back)\(\s*"([^"]+)")re");
  std::set<std::string> facts, sentences;
  for (const char* library : {"sim", "search"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / library))
      if (entry.path().extension() == ".cpp") add_found(entry.path(), fact, facts);
  add_found(root / "scenarios/answer/sentences.yaml", std::regex(R"re(\n  ([a-z0-9-]+): ")re"), sentences);
  CHECK(facts == sentences);
  CHECK_THROWS_AS(scenarios::note_of(Fact("unheard-of")), base::InternalError);
}

TEST_CASE("a sentence has its fact's values, in units for people") {
  CHECK(scenarios::note_of(Fact("folded-devices", 8, 1)) ==
        base::Note(NoteKind::detail, "folded-devices", "8 devices simulated as 1: the others do the same in the same place (exact)"));
  CHECK(scenarios::note_of(Fact("no-traffic-between-stages")).kind == NoteKind::caution);
  CHECK(text_of(Fact("default-efficiencies", 0.426, std::vector<std::string>{"softmax", "norm"})) ==
        "43 % of the kernels' time is by default efficiencies, nothing measured (softmax, norm)");
  CHECK(text_of(Fact("cost-and-simulation", 0.9, 1.0, -0.1)) ==
        "the costs that the search adds up make the plan 0.9 s, the simulation 1 s (-10.0 %)");
  CHECK(text_of(Fact("planner-without-memory", "fsdp", 3.0 * (1 << 30), 1.5 * (1 << 30))) == "no plan of fsdp: needs 3.0 GiB of 1.5 GiB");
  CHECK(text_of(Fact("planners-times", Fact::Times{{"unity", 1.25}, {"alpa", 2}})) == "unity 1.25 s, alpa 2 s");
  CHECK(text_of(Fact("plainer", "data 8", 0.25, 1.01 - 1)) == "data 8, 250 ms, is plainer and within 1 % of the best");
  CHECK(text_of(Fact("tie", 3, 1.01 - 1, "data 8", 0.25)) ==
        "a tie: 3 plans are within 1 % of each other, and this is the plainest; the best is data 8, 250 ms");
}

TEST_CASE("a sentence counts, and leaves out what is not") {
  CHECK(text_of(Fact("long-edges", 1, false)) ==
        "1 tensor is read after the next layer: bringing it there is simulated, and not in the cost model");
  CHECK(text_of(Fact("long-edges", 2, true)).starts_with("2 tensors are read after the next layer: bringing them there counts in"));
  CHECK(
      text_of(Fact("grid-counts", 97, 8, 40, 44, 4, 1, 3, 12)) ==
      "of 97 plans of the grid, 8 cannot be built, 40 do not fit into memory, 44 were left out as slower (by their bounds, or as one "
      "that recomputes less fits), 4 were estimated, 1 were not evaluated; a local search estimated 12 more; 3 of the best were simulated");
  CHECK(text_of(Fact("grid-counts", 1, 0, 0, 0, 1, 0, 1, 0)) == "of 1 plan of the grid, 1 were estimated; 1 of the best were simulated");
  CHECK(text_of(Fact("rules-asked", 1, 3, "two.yaml", 2, 0, 0, 0)) ==
        "1 of the 3 rules of two.yaml are asked, 2 that have layout operators are not");
}
