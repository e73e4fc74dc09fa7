#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/language/text.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <rapidcheck.h>

#include "equations.hpp"
#include "search/rules/generation/generate.hpp"
#include "search/rules/proof/prove.hpp"

using namespace rules;

namespace {

std::vector<Rule> some_rules() {
  Rule rows{
      .name = "h1",
      .equation = typed("x: [m, k] | w: [k, n] | partition[0, d](linear[relu](x, w)) = linear[relu](partition[0, d](x), replicate[d](w))")};
  rows.axioms = {"linear.partition_rows"};
  rows.proof_s = 0.00025;
  Rule sum{.name = "h2", .equation = typed("x: [m, n] | y: [m, n] | add(x, y) = reduce[2](summands(x, y))"), .forward = false};
  sum.axioms = {"add.summands"};
  return {rows, sum};
}

std::string file_with(const std::string& rules, const std::string& hash = axioms().hash) {
  return "foreshard: 1\ngenerator: \"" + std::string(kGeneratorVersion) + "\"\naxioms: \"" + hash + "\"\nrules:\n" + rules +
         "digest: none\n";
}
std::string rule_text(const std::string& source, const std::string& target, const std::string& kind = "algebraic",
                      const std::string& name = "a1") {
  return "  - {name: " + name + ", kind: " + kind + ", variables: [\"x: [m, n]\", \"y: [m, n]\"], source: \"" + source + "\", target: \"" +
         target + "\", axioms: [add.commutative]}\n";
}
// variables: "\"x: [m, k]\", \"w: [k, n]\"".
std::string file_over(const std::string& variables, const std::string& source, const std::string& target) {
  return file_with("  - {name: a1, kind: algebraic, variables: [" + variables + "], source: \"" + source + "\", target: \"" + target +
                   "\", axioms: []}\n");
}

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
std::string load_problem(const std::string& text) {
  return problem([&] { (void)load_rules(parse_rules(text, "r.yaml"), 1); });
}
// As the generator wrote it, then changed.
std::string written() { return to_text(some_rules(), axioms()); }
std::string changed(const std::string& from, const std::string& to) {
  std::string text = written();
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
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
    CHECK(file.rules[i].equation.variables() == rules[i].equation.variables());
    CHECK(file.rules[i].axioms == rules[i].axioms);
  }
  CHECK(to_text(file.rules, axioms()) == to_text(rules, axioms()));
}

TEST_CASE("Every rule of a file is proved again on request") {
  const RuleFile file = parse_rules(to_text(some_rules(), axioms()), "r.yaml");
  for (const Proof& p : verify(file, axioms(), 1, {})) CHECK(p.verdict == Verdict::proved);
}

TEST_CASE("the same rules are the same bytes, however long their proofs took") {
  std::vector<Rule> slower = some_rules();
  for (Rule& r : slower) r.proof_s *= 2;
  CHECK(to_text(slower, axioms()) == written());
  CHECK(written().find("proof_s") == std::string::npos);
}

TEST_CASE("what is loaded is proved, and its rules name the new proofs, whatever the file says of itself") {
  const auto proved_anew = [](const std::string& text, const std::string& why) {
    CAPTURE(text);
    const RuleFile file = parse_rules(text, "r.yaml");
    CHECK(why_not_as_written(file, axioms()) == why);
    for (const Rule& r : load_rules(file, 1)) {
      CHECK(r.axioms == (r.source().operators() == 2 && r.equation.variables()[1].name == "w"
                             ? std::vector<std::string>{"linear.partition_rows"}
                             : std::vector<std::string>{"add.summands"}));
      CHECK(r.proof_s > 0);
    }
  };
  proved_anew(written(), "");
  proved_anew("# kept\n" + written(), "");
  proved_anew(changed("    target: ", "    proof_s: 7\n    target: "), "");  // earlier generators wrote it
  const std::string changed_since = "it was changed after it was written";
  proved_anew(changed("name: h1", "name: mine"), changed_since);
  proved_anew(changed("linear.partition_rows", "add.commutative"), changed_since);
  proved_anew(changed("generator: \"4\"", "generator: \"1\""), "generator \"1\" wrote it, this is generator \"4\"");
  proved_anew(changed("axioms: \"" + axioms().hash, "axioms: \"0123456789abcdef"),
              "it rests on the axioms 0123456789abcdef, which now are " + axioms().hash);
  std::string shorter = written();
  const std::size_t second = shorter.find("  - name: h2");
  proved_anew(shorter.erase(second, shorter.find("digest:") - second), changed_since);
}

TEST_CASE("a forged file that has the digest that belongs to it is not loaded") {
  const auto forged = [](std::string_view line) {
    Rule r{.name = "a1", .equation = typed(line), .axioms = {"add.commutative"}};
    const RuleFile file = parse_rules(to_text({r}, axioms()), "r.yaml");
    CHECK(why_not_as_written(file, axioms()) == "");
    return problem([&] { (void)load_rules(file, 1); });
  };
  // True of two rows and columns, which one window covers.
  const std::string small = forged("x: [m, m, m, m] | transpose(average_pool(x)) = average_pool(x)");
  CHECK(small.find("r.yaml:5:5: rules[0]: rule a1 is false: x [") == 0);
  CHECK(forged("x: [m, n] | y: [m, n] | add(x, y) = multiply(x, y)").find("rule a1 is false") != std::string::npos);
  // True, though no axiom says so: what is evaluated alone is not proved.
  CHECK(forged("x: [n, c, h, w] | transpose(average_pool(x)) = average_pool(transpose(x))")
            .find("rule a1 is not proved by the axioms of this version") != std::string::npos);
}

TEST_CASE("a letter alone is tried at several sizes") {
  CHECK(refute(typed("x: [m, m, m, m] | transpose(average_pool(x)) = average_pool(x)")));
}

TEST_CASE("an axiom that does not exist is named with its place") {
  const std::string near = parse_problem(changed("linear.partition_rows", "linear.partition_row"));
  CHECK_MESSAGE(near.find("r.yaml:10:14: rules[0].axioms: there is no axiom \"linear.partition_row\"") == 0, near);
  CHECK(near.find("did you mean \"linear.partition_rows\"?") != std::string::npos);
  CHECK(parse_problem(changed("linear.partition_rows", "0123456789"))
            .find("foreshard rules axioms lists them; the list may be empty: each rule is proved when it is loaded") != std::string::npos);
}

TEST_CASE("sides that are swapped are proved in that direction") {
  const std::string source = "partition[0, d](linear[relu](x, w))", target = "linear[relu](partition[0, d](x), replicate[d](w))";
  std::string text = changed("source: \"" + source, "source: \"" + target);
  const std::size_t at = text.find("target: \"" + target);
  REQUIRE(at != std::string::npos);
  text.replace(at, 9 + target.size(), "target: \"" + source);
  const std::vector<Rule> rules = load_rules(parse_rules(text, "r.yaml"), 1);
  CHECK(to_text(rules[0].source(), rules[0].equation.variables()) == target);
}

TEST_CASE("a degree that is changed on one side alone is a wrong layout") {
  CHECK(load_problem(changed("(partition[0, d](x)", "(partition[0, e](x)"))
            .find("target: linear[relu](partition[0, e](x), replicate[d](w)) is ill typed over these variables") != std::string::npos);
  CHECK(load_problem(changed("\"partition[0, d](linear", "\"partition[1, d](linear")).find("output 0 has another size or layout") !=
        std::string::npos);
}

TEST_CASE("a false rule keeps all out, whatever the file says of itself") {
  const std::string text =
      load_problem(file_with(rule_text("add(x, y)", "multiply(x, y)") + rule_text("add(x, y)", "add(y, x)", "algebraic", "a2")));
  CHECK(text.find("r.yaml:5:5: rules[0]: rule a1 is false: x [") == 0);
  CHECK(text.find("remove it, or generate the rules anew: foreshard rules generate --save FILE") != std::string::npos);
}

TEST_CASE("a file that is cut off anywhere is refused") {
  const std::string text = written();
  for (std::size_t length = 0; length < text.find("digest:"); ++length) CHECK_MESSAGE(parse_problem(text.substr(0, length)) != "", length);
  CHECK(parse_problem(text.substr(0, text.find("digest:")))
            .find("missing \"digest\": the end of the file is cut off, or it was written by hand") != std::string::npos);
}

TEST_CASE("a line that is deleted is named, or the file is proved anew") {
  const std::string text = written();
  for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
    std::string less = text;
    less.erase(from, text.find('\n', from) + 1 - from);
    CAPTURE(less);
    const std::string found = parse_problem(less);
    if (found.empty()) CHECK(why_not_as_written(parse_rules(less, "r.yaml"), axioms()) != "");
    else CHECK(found.find("r.yaml:") == 0);
  }
}

TEST_CASE("any damage to a file is bad input, or a file that is proved anew") {
  CHECK(rc::check([] {
    std::string text = written();
    const int edits = *rc::gen::inRange(1, 4);
    for (int i = 0; i < edits; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto kind = *rc::gen::inRange(0, 3);
      if (kind == 0) text[at] = *rc::gen::arbitrary<char>();
      else if (kind == 1) text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
      else
        text.insert(
            at, *rc::gen::elementOf(std::vector<std::string>{"9", "[", "*d", "*2", "+x.0", "d", "(", ", ", "sum d", "copy 2", "x", "\n"}));
    }
    if (text == written()) return;
    RC_LOG() << text;
    try {
      const RuleFile file = parse_rules(text, "r.yaml");
      const std::vector<Rule> rules = load_rules(file, 1);
      RC_ASSERT(to_text(rules, axioms()) != "");
      for (const Rule& r : rules) (void)side_conditions(r);  // whatever is loaded can be told
    } catch (const base::InputError& e) { RC_ASSERT(!e.diagnostics().empty()); }
  }));
}

TEST_CASE("what would cost its reader too much is refused") {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "relu(";  // a parser that recurses would overflow its stack
  deep += "x";
  CHECK(parse_problem(file_with(rule_text(deep, "x"))).find("characters; a term has at most 2000") != std::string::npos);
  const auto of_variable = [](const std::string& v) {
    return parse_problem(
        file_with("  - {name: a1, kind: algebraic, variables: [\"" + v + "\"], source: relu(x), target: relu(x), axioms: []}\n"));
  };
  CHECK(of_variable("x: [9999, 9999, 9999, 9999]").find("dim 0 of x is 9999; a size that is a number is at most 4") != std::string::npos);
  CHECK(of_variable("x: [m+1]").find("dim 0 of x is neither a sum of one to five letters nor a number") != std::string::npos);
  CHECK(of_variable("x: [6m]").find("neither a sum of one to five letters") != std::string::npos);
  CHECK(of_variable("x: [m/2*2*2*2*2]").find("the degree is too large") != std::string::npos);
  CHECK(of_variable("x: [m/2*2*2*2, k] copy d*2*2*2").empty());
  CHECK(parse_problem(file_with(rule_text("split0[0 at x.0+x.0+x.0+x.0+x.0+x.0](x)", "x")))
            .find("a size of split0 is no sum of at most four dims") != std::string::npos);
  const auto variables = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += fmt::format("{}\"x{}: [m]\"", i == 0 ? "" : ", ", i);
    return all;
  };
  CHECK(parse_problem(file_over(variables(100), "add(x0, x99)", "add(x99, x0)")) == "");
  const std::string many = parse_problem(file_over(variables(257), "relu(x256)", "relu(x0)"));  // 256 is 0 in a byte
  CHECK(many.find("rules[0].variables: 257 variables; a rule has at most 100") != std::string::npos);
  CHECK(many.find("take out those that neither side uses") != std::string::npos);
  std::string copies = "x";
  for (int i = 0; i < 5; ++i) copies = "replicate[d*d*d*d](" + copies + ")";
  CHECK(parse_problem(file_with(rule_text(copies, "x", "parallel"))).find("the degrees have more than 16 factors") != std::string::npos);
}

TEST_CASE("what is well typed at large sizes alone is refused, before it is evaluated") {
  const auto of = [](const std::string& variables, const std::string& source, const std::string& target) {
    return parse_problem(file_over(variables, source, target));
  };
  const auto twice = [&](const std::string& variables, const std::string& x, const std::string& f) {
    return of(variables, "relu(" + x + ")", f);
  };
  const std::string outside = "source: split0 cuts outside its tensor",
                    channels = "source: conv reads channels that are no multiple of its kernel's";
  // small sizes begin at 2
  const std::string split = twice("\"x: [m, k]\", \"w: [3, k]\"", "split0[0 at w.0](x)", "split0[0 at w.0](relu(x))");
  CHECK(split.find("r.yaml:5:") == 0);
  CHECK(split.find("rules[0]." + outside) != std::string::npos);
  CHECK(split.find("rules[0].target: split0 cuts outside its tensor") != std::string::npos);
  CHECK(split.find("write the size that is cut as a sum of both parts, e.g. [m+n, k] cut after m") != std::string::npos);
  CHECK(twice("\"x: [m, k]\", \"w: [3, k]\"", "split1[0 at w.0](x)", "split1[0 at w.0](relu(x))").find("split1 cuts outside") !=
        std::string::npos);
  // symbol('b') is greater than symbol('a') in every assignment
  CHECK(twice("\"x: [b, k]\", \"w: [a, k]\"", "split1[0 at w.0](x)", "split1[0 at w.0](relu(x))").find("split1 cuts outside") !=
        std::string::npos);
  for (const char* kernel : {"[c, 3, 3, 3]", "[c, 4, 3, 3]"})
    CHECK(twice("\"x: [n, c, h, w]\", \"k: " + std::string(kernel) + "\"", "conv(x, k)", "conv[relu](x, k)").find(channels) !=
          std::string::npos);
  CHECK(twice("\"x: [n, c, h, w]\", \"k: [c, 3, 3, 3]\", \"b: [c]\"", "conv_bias(x, k, b)", "conv_bias[relu](x, k, b)")
            .find("conv_bias reads channels that are no multiple") != std::string::npos);
  CHECK(twice("\"x: [n, 2c, h, w]\", \"k: [o, c, 3, 3]\"", "conv(x, k)", "conv[relu](x, k)")
            .find("conv has a kernel whose outputs are no multiple of its groups") != std::string::npos);
  CHECK(of("\"x: [b, s, h]\"", "relu(transpose(attention(x)))", "transpose(relu(attention(x)))")
            .find("source: attention reads a last dim that is no multiple of 3") != std::string::npos);
}

TEST_CASE("what is well typed at any sizes is evaluated") {
  const auto loads = [](const std::string& variables, const std::string& source, const std::string& target) {
    CAPTURE(source);
    CHECK(parse_problem(file_over(variables, source, target)) == "");
    CHECK_FALSE(refute(parse_rules(file_over(variables, source, target), "r.yaml").rules.at(0).equation));
  };
  for (const char* sizes : {"\"x: [m+n, k]\", \"w: [m, k]\"", "\"x: [2m, k]\", \"w: [m, k]\"", "\"x: [4, k]\", \"w: [3, k]\""})
    loads(sizes, "relu(split0[0 at w.0](x))", "split0[0 at w.0](relu(x))");
  loads("\"x: [m, k]\", \"y: [1, k]\"", "relu(split0[0 at x.0](concat[0](x, y)))", "relu(x)");  // a letter and a number
  for (const char* sizes : {"\"x: [n, c, h, w]\", \"k: [o, c, 3, 3]\"", "\"x: [n, 2c, h, w]\", \"k: [2o, c, 3, 3]\"",
                            "\"x: [n, c, h, w]\", \"k: [c, 1, 3, 3]\"", "\"x: [n, c+d, h, w]\", \"k: [c+d, 1, 3, 3]\"",
                            "\"x: [n, 2c, h, w]\", \"k: [2c, 2, 3, 3]\"", "\"x: [n, 4, h, w]\", \"k: [2o, 2, 3, 3]\""})
    loads(sizes, "relu(conv(x, k))", "conv[relu](x, k)");
  loads("\"x: [b, s, 3h]\"", "relu(transpose(attention(x)))", "transpose(relu(attention(x)))");
}

TEST_CASE("another kind of file is told by one line") {
  CHECK(parse_problem("rule: []\n") ==
        "r.yaml:1:1: this is no rule file: it has no \"generator\"\n    1 | rule: []\n      | ^~~ foreshard rules generate --save writes "
        "one\n");
  CHECK(parse_problem("cluster: {}\n").find("r.yaml:1:1: this is no rule file: it has no \"generator\"") == 0);
  CHECK(parse_problem("").find("r.yaml") == 0);
  CHECK(parse_problem(std::string("\x00\xff\x7f", 3)).find("r.yaml: not text in UTF-8") == 0);
}

TEST_CASE("Broken files are refused with the place and the cure") {
  CHECK(parse_problem("foreshard: 1\n").find("r.yaml:1:1: missing") != std::string::npos);
  CHECK(parse_problem("foreshard: 2\ngenerator: 1\naxioms: x\nrules: []\ndigest: none\n")
            .find("r.yaml:1:12: foreshard: format 2 is not known") == 0);
  // the column is that of the misspelt word
  const std::string misspelt = parse_problem(file_with(rule_text("add(x, y)", "ad(y, x)")));
  CHECK(misspelt.find("\"ad\" is neither an operator nor a variable") != std::string::npos);
  CHECK(misspelt.find("r.yaml:5:") == 0);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "relu(transpose(x))"))).find("another size or layout") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("concat[3](x, y)", "x"))).find("source: concat[3](x, y) is ill typed") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "add(y, x)", "hybrid"))).find("the rule is algebraic") != std::string::npos);
  CHECK(parse_problem(file_with(rule_text("add(x, y)", "add(y, x)") + rule_text("add(x, y)", "add(y, x)"))).find("two rules \"a1\"") !=
        std::string::npos);
  CHECK(parse_problem("rules: [").find("r.yaml") == 0);
  CHECK(parse_problem(file_with("  - {name: \"\", kind: algebraic, variables: x, source: x, target: x, axioms: y, proof_s: -1}\n"))
            .find("rules[0].name: a rule without a name") != std::string::npos);
}
