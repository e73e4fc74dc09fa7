#include "search/substitutions/rules_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "equations.hpp"
#include "search/substitutions/generate.hpp"

using namespace substitutions;

namespace {

std::vector<Rule> some_rules() {
  Rule rows{.name = "h1", .equation = equation("x: [m, k] | w: [k, n] | partition[0, d](linear[relu](x, w)) = linear[relu](partition[0, d](x), replicate[d](w))")};
  rows.axioms = {"linear.partition_rows"};
  rows.proof_s = 0.00025;
  Rule sum{.name = "h2", .equation = equation("x: [m, n] | y: [m, n] | add(x, y) = reduce[2](summands(x, y))"), .forward = false};
  sum.axioms = {"add.summands"};
  return {rows, sum};
}

std::string file_with(const std::string& rules, const std::string& hash = axioms().hash) {
  return "format: 1\ngenerator: \"" + std::string(kGeneratorVersion) + "\"\naxioms: \"" + hash + "\"\nrules:\n" + rules;
}
std::string rule_text(const std::string& source, const std::string& target, const std::string& kind = "algebraic") {
  return "  - {name: a1, kind: " + kind + ", variables: [\"x: [m, n]\", \"y: [m, n]\"], source: \"" + source + "\", target: \"" + target +
         "\", axioms: [add.commutative], proof_s: 0}\n";
}

struct File {
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::filesystem::remove(path); }
  std::filesystem::path path = std::filesystem::temp_directory_path() / "foreshard_rules_file_test.yaml";
};
template <class F>
std::string problem(F&& f) {
  try {
    f();
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return "";
}
std::string parse_problem(const std::string& text) {
  return problem([&] { (void)parse_rules(text, "r.yaml"); });
}

}  // namespace

TEST_CASE("Rules come back from a file as they were written, sources first") {
  const std::vector<Rule> rules = some_rules();
  const RuleFile file = parse_rules(to_text(rules, axioms()), "r.yaml");
  CHECK(file.axioms == axioms().hash);
  CHECK(file.generator == kGeneratorVersion);
  REQUIRE(file.rules.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(file.rules[i].name == rules[i].name);
    CHECK(file.rules[i].source() == rules[i].source());
    CHECK(file.rules[i].target() == rules[i].target());
    CHECK(file.rules[i].equation.variables == rules[i].equation.variables);
    CHECK(file.rules[i].axioms == rules[i].axioms);
    CHECK(file.rules[i].proof_s == rules[i].proof_s);
  }
  CHECK(to_text(file.rules, axioms()) == to_text(rules, axioms()));
}

TEST_CASE("Every rule of a file is proved again on request") {
  const RuleFile file = parse_rules(to_text(some_rules(), axioms()), "r.yaml");
  for (const Proof& p : verify(file, axioms(), 1, {})) CHECK(p.verdict == Verdict::proved);
}

TEST_CASE("A file of these axioms loads when its rules hold by value; a false rule keeps all out") {
  const File good(file_with(rule_text("add(x, y)", "add(y, x)")));
  CHECK(load_rules(good.path, 1).size() == 1);
  const File bad(file_with(rule_text("add(x, y)", "multiply(x, y)")));
  const std::string text = problem([&] { (void)load_rules(bad.path, 1); });
  CHECK(text.find("foreshard_rules_file_test.yaml:5:5: rules[0]: rule a1 is false: x [") != std::string::npos);
}

TEST_CASE("A file of other axioms is proved anew before it loads") {
  const File good(file_with(rule_text("add(x, y)", "add(y, x)"), "0000000000000000"));
  CHECK(load_rules(good.path, 1).size() == 1);
  const File bad(file_with(rule_text("add(x, x)", "add(x, y)"), "0000000000000000"));
  CHECK(problem([&] { (void)load_rules(bad.path, 1); }).find("has a variable that the source lacks") != std::string::npos);
}

TEST_CASE("Broken files are refused with the place and the cure") {
  CHECK(parse_problem("format: 1\n").find("r.yaml:1:1: missing") != std::string::npos);
  CHECK(parse_problem("format: 2\ngenerator: 1\naxioms: x\nrules: []\n").find("r.yaml:1:9: format") == 0);
  // the column is that of the misspelt word
  const std::string misspelt = parse_problem(file_with(rule_text("add(x, y)", "ad(y, x)")));
  CHECK(misspelt.find("\"ad\" is neither an operator nor a variable") != std::string::npos);
  CHECK(misspelt.find("r.yaml:5:") == 0);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "relu(transpose(x))"))).find("another size or layout") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("concat[3](x, y)", "x"))).find("source: is ill typed") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "add(y, x)", "hybrid"))).find("the rule is algebraic") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "add(y, x)") + rule_text("add(x, y)", "add(y, x)"))).find("two rules \"a1\"") != std::string::npos);
  CHECK(parse_problem("rules: [").find("r.yaml") == 0);
}
