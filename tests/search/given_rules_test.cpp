// Rules of a file in the place of those that ship.
#include "base/yaml/parse.hpp"
#include "search/problem/options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "problem.hpp"
#include "search/planners.hpp"
#include "search/planners/unity/unity.hpp"
#include "search/rules/axioms/axioms.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/selection/selection.hpp"

namespace {

namespace fs = std::filesystem;

// A folder that goes with the test.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

 private:
  fs::path path_ = fs::temp_directory_path() / "foreshard_given_rules_test";
};

std::string by_hand(const std::string& kind, const std::string& target) {
  return "foreshard: 1\ngenerator: none\naxioms: none\nrules:\n  - {name: mine, kind: " + kind +
         ", variables: [\"x: [m, n]\", \"y: [m, n]\"], source: \"add(x, y)\", target: \"" + target + "\", axioms: []}\ndigest: none\n";
}

// What is wrong with an entry of unity in a scenario of this folder, one problem a line.
std::string wrong_in(const Folder& folder, const std::string& options) {
  base::Diagnostics sink;
  const base::Yaml y = base::parse_yaml(options, "q.yaml");
  base::MapReader in(y, "unity", sink);
  (void)search::read_options(in, search::find_planner("unity")->options, folder.path());
  std::string all;
  try {
    sink.throw_if_any();
  } catch (const base::InputError& e) {
    for (const base::Diagnostic& d : e.diagnostics()) all += d.path + ": " + d.message + "\n";
  }
  std::string cut = all;  // without the folder
  for (std::size_t at; (at = cut.find(folder.path().string() + "/")) != std::string::npos;)
    cut.erase(at, folder.path().string().size() + 1);
  return cut;
}

}  // namespace

TEST_CASE("without a file, those that ship are asked; of a file those that a search wants") {
  CHECK(search::rules_to_ask({}).size() == rules::builtin_algebraic_rules().rules.size());
  const Folder folder;
  const std::vector<rules::Rule>& all = rules::builtin_rules();
  const auto layout = std::ranges::find_if(all, [](const auto& r) { return kind_of(r.equation) != rules::RuleKind::algebraic; });
  REQUIRE(layout != all.end());
  folder.write("two.yaml", to_text(std::vector{rules::builtin_algebraic_rules().rules[0], *layout}, rules::axioms()));
  const search::GivenRules given = search::load_given_rules(folder.path() / "two.yaml");
  REQUIRE(search::rules_to_ask(given).size() == 1);
  CHECK(search::rules_to_ask(given)[0].name == rules::builtin_algebraic_rules().rules[0].name);
  // 1 of 2; the other has layout operators.
  CHECK(search::rules_asked(given) == base::Fact("rules-asked", 1, 2, (folder.path() / "two.yaml").string(), 1, 0, 0, 0));
}

TEST_CASE("what is wrong with a rule file is told at the option's place and at its own") {
  const Folder folder;
  folder.write("false.yaml", by_hand("algebraic", "add(x, x)"));
  folder.write("layout.yaml", by_hand("hybrid", "reduce[2](summands(x, y))"));
  folder.write("fine.yaml", by_hand("algebraic", "add(y, x)"));
  const std::string first = "unity.rules: the rules of \"";
  const std::string gone = wrong_in(folder, "{rules: gone.yaml}");
  CHECK(gone.find(": cannot be read: ") != std::string::npos);
  CHECK(gone.find(first + "gone.yaml\" cannot be asked\n") != std::string::npos);
  const std::string refuted = wrong_in(folder, "{rules: false.yaml}");
  CHECK(refuted.find(first + "false.yaml\" cannot be asked\n") != std::string::npos);
  CHECK(refuted.find("rules[0]: rule mine is false: ") != std::string::npos);
  CHECK(
      wrong_in(folder, "{rules: layout.yaml}").find("layout.yaml: a search asks none of its rules; left out: 1 have layout operators\n") !=
      std::string::npos);
  CHECK(wrong_in(folder, "{rules: {file: fine.yaml}}") == "unity.rules: expected text, found a map\n");
}

TEST_CASE("rules are not given to a search that applies none") {
  const Folder folder;
  const search::Planner& unity = *search::find_planner("unity");
  const auto read = [&](const std::string& map) {
    base::Diagnostics sink;
    const base::Yaml y = base::parse_yaml(map, "q.yaml");
    base::MapReader in(y, "unity", sink);
    return search::read_options(in, unity.options, folder.path());
  };
  CHECK_FALSE(unity.contradiction(read("{algebra: false}")));
  folder.write("sums.yaml", to_text(std::vector{rules::builtin_algebraic_rules().rules[0]}, rules::axioms()));
  CHECK_FALSE(unity.contradiction(read("{rules: sums.yaml}")));
  CHECK(unity.contradiction(read("{rules: sums.yaml, algebra: false}"))->key == "rules");
}

TEST_CASE("a search applies the rules that it is given, and no others") {
  const test::TwoConvolutions q;
  const search::SearchResult all = search::unity_search(q.problem(), {.steps = 300}, {});
  REQUIRE(all.best);
  REQUIRE(!all.best->rewrites.empty());
  std::set<std::string> applied;
  for (const pcg::Rewrite& r : all.best->rewrites) applied.insert(r.rule);
  std::vector<rules::Rule> few, others;
  for (const rules::Rule& r : rules::builtin_algebraic_rules().rules)
    if (applied.contains(r.name)) few.push_back(r);
    else if (others.empty()) others.push_back(r);

  const Folder folder;
  folder.write("few.yaml", to_text(few, rules::axioms()));
  folder.write("others.yaml", to_text(others, rules::axioms()));
  const search::GivenRules given = search::load_given_rules(folder.path() / "few.yaml");
  const search::SearchResult same = search::unity_search(q.problem(), {.rules = given, .steps = 300}, {});
  REQUIRE(same.best);
  CHECK(same.best->rewrites == all.best->rewrites);
  CHECK(same.notes.back() == search::rules_asked(given));
  const search::GivenRules useless = search::load_given_rules(folder.path() / "others.yaml");
  CHECK(search::unity_search(q.problem(), {.rules = useless, .steps = 300}, {}).best->rewrites.empty());
}
