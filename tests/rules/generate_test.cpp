#include "search/rules/generation/generate.hpp"
#include "search/rules/language/text.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "search/rules/generation/families.hpp"
#include "search/rules/generation/prune.hpp"
#include "search/rules/language/typing.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"
#include "search/rules/semantics/values.hpp"
#include "tests/rules/equations.hpp"
#include "tests/rules/nameless.hpp"

using namespace rules;

namespace {

Equation equation_of(std::string_view left, std::string_view right, const std::vector<Variable>& v) {
  return {v, parse_term(left, v), parse_term(right, v)};
}

// What ships, once for all tests.
const Generated& all_rules() {
  static const Generated g = generate({.operators = 3, .processes = 2});
  return g;
}

std::string line_of(const Equation& e, std::string_view sign, const std::vector<std::string>& axioms) {
  std::string line;
  for (const Variable& v : e.variables) line += to_text(v) + " | ";
  return line + fmt::format("{} {} {} | {}\n", to_text(e.left, e.variables), sign, to_text(e.right, e.variables), fmt::join(axioms, " "));
}

// The text of built-in rules. Equal rules give equal bytes: it has no times.
std::string builtin_rules_text(const std::vector<Rule>& rules, const Axioms& axioms) {
  std::string text = fmt::format("generator {} axioms {}\n", kGeneratorVersion, axioms.hash);
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const bool both = r + 1 < rules.size() && rules[r].forward && !rules[r + 1].forward &&
                      rules[r].equation.statement() == rules[r + 1].equation.statement();
    text += line_of(rules[r].equation, both ? "<=>" : rules[r].forward ? "=>" : "<=", rules[r].axioms);
    if (both) ++r;
  }
  return text + fmt::format("digest {:016x}\n", base::hash_text(text));
}

// Is an equation, up to names, among the rules, or a special case of one?
bool found(const Generated& g, const Equation& e) {
  const Joint wanted = join(e);
  return std::ranges::any_of(g.rules, [&](const Rule& r) { return instance(join(r.equation), wanted).has_value(); });
}

bool equal_at(const Equation& e, std::uint64_t seed) {
  const SmallSizes sizes(e.variables, seed);
  const auto left = values_of(e.left, e.variables, sizes, seed), right = values_of(e.right, e.variables, sizes, seed);
  for (std::size_t i = 0; i < e.left.outputs.size(); ++i)
    if (left[e.left.outputs[i]] != right[e.right.outputs[i]]) return false;
  return true;
}

}  // namespace

TEST_CASE("a graph is enumerated once, and against the fewest operators that compute it") {
  // relu(x), relu(y), add(x, x), add(x, y), add(y, y): commutative inputs are ordered, so x + y = y + x is no pair.
  const Setting s{.family = "test",
                  .variables = variables({"x: [m, k]", "y: [m, k]"}),
                  .operators = {{.kind = Kind::unary, .function = Function::relu}, {.kind = Kind::add}}};
  const Enumerated one = enumerate(s, 1);
  CHECK(one.graphs == 5);
  CHECK(one.equations.empty());
  // With two: x + (x + y) = y + (x + x), its like for y, nothing else is equal.
  const Enumerated two = enumerate(s, 2);
  std::set<std::string> texts;
  for (const Equation& e : two.equations) texts.insert(to_text(e.left, e.variables) + " = " + to_text(e.right, e.variables));
  CHECK(texts == std::set<std::string>{"add(x, add(x, y)) = add(y, add(x, x))", "add(x, add(y, y)) = add(y, add(x, y))"});
  // Both are x + (y + z) = y + (x + z) with two variables equal.
  const Pruned p = prune(two.equations);
  REQUIRE(p.equations.size() == 1);
  const auto v = variables({"x: [m, k]", "y: [m, k]", "z: [m, k]"});
  CHECK(instance(join(p.equations[0]), join(equation_of("add(x, add(y, z))", "add(y, add(x, z))", v))));
}

TEST_CASE("a special case is told from what is none") {
  const auto v = variables({"x: [m, k]", "y: [m, k]", "z: [m, k]", "w: [k, n]", "u: [k, n]", "q: [m, n]"});
  const Joint general = join(equation_of("relu(concat[0](x, y))", "concat[0](relu(x), relu(y))", v));
  CHECK(instance(general, join(equation_of("relu(concat[0](y, x))", "concat[0](relu(y), relu(x))", v))));
  CHECK(instance(general, join(equation_of("concat[0](relu(x), relu(x))", "relu(concat[0](x, x))", v))));
  CHECK(instance(general, join(equation_of("relu(concat[0](linear(x, w), q))", "concat[0](relu(linear(x, w)), relu(q))", v))));
  CHECK_FALSE(instance(general, join(equation_of("relu(concat[1](x, y))", "concat[1](relu(x), relu(y))", v))));
  const Joint split = join(equation_of("split0[1 at x.1](concat[1](x, y))", "x", variables({"x: [m, k]", "y: [m, l]"})));
  CHECK(instance(split, join(equation_of("split0[1 at w.1](linear(x, concat[1](w, u)))", "linear(x, w)", v))) == std::nullopt);
  CHECK(instance(split, join(equation_of("split0[1 at x.1](concat[1](x, q))", "x", v))));
}

TEST_CASE("equations are kept in their most general form: sizes and operands that need not be equal are not") {
  const auto v = variables({"x: [m, k]", "y: [m, k]", "w: [k, n]"});
  const auto more = variables({"x: [m, k]", "y: [l, k]", "w: [k, n]"});
  const Pruned rows = prune({equation_of("concat[0](linear(x, w), linear(y, w))", "linear(concat[0](x, y), w)", v)});
  REQUIRE(rows.equations.size() == 1);
  CHECK(instance(join(rows.equations[0]), join(equation_of("concat[0](linear(x, w), linear(y, w))", "linear(concat[0](x, y), w)", more))));
  const Pruned operand = prune({equation_of("relu(transpose(linear(x, w)))", "transpose(relu(linear(x, w)))", v)});
  REQUIRE(operand.equations.size() == 1);
  CHECK(operand.equations[0].left.operators() == 2);
  // One linear on both sides of the concatenation says less than two: what is between two is another equation's to say.
  CHECK(prune({equation_of("concat[0](linear(x, w), linear(x, w))", "linear(concat[0](x, x), w)", v)}).equations.empty());
}

TEST_CASE("names make no rule another one") {
  const auto nameless = [](std::string_view line, bool forward = true) {
    return nameless_text({.name = "r", .equation = typed(line), .forward = forward, .axioms = {}});
  };
  const std::string sum = nameless("x: [m, k] | y: [m, k] | z: [m, k] | add(x, add(y, z)) = add(y, add(x, z))");
  CHECK(nameless("u: [a, b] | x: [a, b] | y: [a, b] | add(add(x, u), y) = add(x, add(u, y))") == sum);
  CHECK(nameless("x: [m, k] | y: [m, k] | z: [m, k] | add(x, add(y, z)) = add(y, add(x, z))", false) == sum);
  CHECK(nameless("x: [m, k] | y: [m, k] | z: [m, k] | add(x, add(y, y)) = add(y, add(x, y))") != sum);
  CHECK(nameless("x: [m, k] | combine[0, d](partition[0, d](x)) = x") == nameless("x: [m, k] | combine[0, e](partition[0, e](x)) = x"));
  CHECK(nameless("x: [m, k] | combine[0, d](partition[0, d](x)) = x") != nameless("x: [m, m] | combine[0, d](partition[0, d](x)) = x"));
  CHECK(nameless("x: [m, k] | y: [l, k] | split0[0 at x.0](concat[0](x, y)) = x") ==
        nameless("y: [a, b] | x: [c, b] | split0[0 at y.0](concat[0](y, x)) = y"));
}

TEST_CASE("of equations that renaming makes one, one is kept, and one direction of those that it turns round") {
  const auto v = variables({"x: [m, k]"});
  const Pruned degrees =
      prune({equation_of("combine[0, d](partition[0, d](x))", "x", v), equation_of("combine[0, e](partition[0, e](x))", "x", v)});
  REQUIRE(degrees.equations.size() == 1);
  CHECK(degrees.renamed == 1);
  CHECK(to_text(degrees.equations[0].left, degrees.equations[0].variables) == "combine[0, d](partition[0, d](x))");
  CHECK(is_symmetric(join(equation("x: [m, k] | y: [m, k] | z: [m, k] | add(x, add(y, z)) = add(y, add(x, z))"))));
  CHECK(is_symmetric(join(equation("x: [m] sum d*e | reduce[d](reduce[e](x)) = reduce[e](reduce[d](x))"))));
  CHECK_FALSE(is_symmetric(join(equation("x: [m, k] | y: [m, k] | relu(add(x, y)) = add(relu(x), relu(y))"))));
  CHECK(is_symmetric(join(equation("x: [m, k] | y: [m, k] | add(x, relu(y)) = add(y, relu(x))"))));  // though it is false
  CHECK_FALSE(is_symmetric(join(equation("x: [m, k] | y: [m, l] | concat[1](relu(x), y) = concat[1](x, relu(y))"))));
}

TEST_CASE("no two rules are one up to names") {
  std::map<std::string, std::string> names;
  std::size_t duplicates = 0;
  for (const Rule& r : all_rules().rules) {
    const auto [it, fresh] = names.try_emplace(nameless_text(r), r.name);
    if (!fresh) MESSAGE(it->second << " and " << r.name << " are one rule");
    duplicates += fresh ? 0 : 1;
  }
  CHECK(duplicates == 0);
}

// What makes it safe to use them without a proof: these bytes come out of generating and proving here and now. UPDATE_GOLDEN=1 stores them.
TEST_CASE("the built-in rules are those that are generated and proved") {
  const std::string text = builtin_rules_text(all_rules().rules, axioms());
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(SOURCE_DIRECTORY "/search/rules/rule_files/builtin_rules.txt") << text;
    return;
  }
  CHECK_MESSAGE(text == text_of_builtin_rules(), "renew them: make rules");
  REQUIRE(builtin_rules().size() == all_rules().rules.size());
  for (std::size_t i = 0; i < builtin_rules().size(); ++i) {
    const Rule &read = builtin_rules()[i], &made = all_rules().rules[i];
    CHECK(read.name == made.name);
    CHECK(read.forward == made.forward);
    CHECK(read.axioms == made.axioms);
    CHECK((read.equation.statement() == made.equation.statement()));
    CHECK(read.source_types() == made.source_types());
    CHECK(read.target_types() == made.target_types());
  }
}

TEST_CASE("a text of built-in rules that is cut off or changed is no text of them") {
  const std::string text(text_of_builtin_rules());
  CHECK_THROWS_AS((void)read_builtin_rules_text(text.substr(0, text.size() / 2)), base::InternalError);
  std::string changed = text;
  changed[changed.find("<=>") + 2] = ' ';
  CHECK_THROWS_AS((void)read_builtin_rules_text(changed), base::InternalError);
}

TEST_CASE("what is known is found: TASO's merges, Unity's movements") {
  const auto v = variables({"x: [m, k]", "z: [l, k]", "w: [k, n]", "u: [k, o]"});
  const Generated& all = all_rules();
  CHECK(found(all, equation_of("concat[1](linear(x, w), linear(x, u))", "linear(x, concat[1](w, u))", v)));
  CHECK(found(all, equation_of("concat[0](linear[gelu](x, w), linear[gelu](z, w))", "linear[gelu](concat[0](x, z), w)", v)));
  CHECK(found(all, equation_of("linear(x, w) ; linear(x, u)",
                               "split0[1 at w.1](linear(x, concat[1](w, u))) ; split1[1 at w.1](linear(x, concat[1](w, u)))", v)));
  const auto blocks = variables({"x: [m, k]", "y: [m, l]", "w: [k, n]", "u: [l, n]"});
  CHECK(found(all, equation_of("add(linear(x, w), linear(y, u))", "linear(concat[1](x, y), concat[0](w, u))", blocks)));

  CHECK(found(all, equation_of("linear(x, w)", "combine[1, d](linear(replicate[d](x), partition[1, d](w)))", v)));
  CHECK(found(all, equation_of("linear(x, w)", "combine[0, d](linear(partition[0, d](x), replicate[d](w)))", v)));
  CHECK(found(all, equation_of("linear(x, w)", "reduce[d](linear(partition[1, d](x), partition[0, d](w)))", v)));
  CHECK_FALSE(found(all, equation_of("linear(x, w)", "linear(x, u)", variables({"x: [m, k]", "w: [k, n]", "u: [k, n]"}))));
  const auto sum = variables({"x: [m, k]", "y: [m, k]"});
  CHECK(found(all, equation_of("add(x, y)", "reduce[2](summands(x, y))", sum)));
  const auto bag = variables({"i: [n, b] index", "t: [v, e]"});
  CHECK(found(all, equation_of("embedding_bag(i, t)", "sum[1](embedding(i, t))", bag)));
}

TEST_CASE("sums that pass one factor of a product alone") {
  const auto found_one = [](std::string_view left, std::string_view right, std::initializer_list<std::string_view> v) {
    return found(all_rules(), equation_of(left, right, variables(v)));
  };
  CHECK(found_one("linear(reduce[d](x), w)", "reduce[d](linear(x, replicate[d](w)))", {"x: [m, k] sum d", "w: [k, n]"}));
  CHECK(found_one("linear(x, reduce[d](w))", "reduce[d](linear(replicate[d](x), w))", {"x: [m, k]", "w: [k, n] sum d"}));
  CHECK(found_one("multiply(reduce[d](x), y)", "reduce[d](multiply(x, replicate[d](y)))", {"x: [m, k] sum d", "y: [m, k]"}));
  CHECK(found_one("add(reduce[d](x), y)", "reduce[d](add(x, replicate[d](y)))", {"x: [m, k] sum d", "y: [m, k]"}));
  // Sums of both factors would leave their cross terms out.
  const auto v = variables({"x: [m, k] sum d", "w: [k, n] sum d"});
  CHECK_FALSE(types_of(parse_term("linear(x, w)", v), v));
}

TEST_CASE("images are cut by rows and columns, halos and all") {
  const auto v = variables({"x: [n, c, h, w]", "k: [o, c, 3, 3]"});
  CHECK(found(all_rules(), equation_of("conv[relu](x, k)", "combine[2, d](conv[relu](partition[2, d](x), replicate[d](k)))", v)));
  CHECK(found(all_rules(), equation_of("max_pool(partition[3, d](x))", "partition[3, d](max_pool(x))", v)));
  CHECK(found(all_rules(), equation_of("relu(partition[2, d](x))", "partition[2, d](relu(x))", v)));  // Unity, figure 11a
}

TEST_CASE("nothing that was found is left without a proof") { CHECK(all_rules().unproved.empty()); }

TEST_CASE("every rule holds at sizes and values that it was not found with, both sides of one type") {
  REQUIRE(all_rules().rules.size() > 1394);  // 743 + 651: Unity, substitution generation
  for (const Rule& r : all_rules().rules) {
    const TypedEquation& e = r.equation;
    CHECK(types_of(e.left(), e.variables()) == e.left_types());  // what a rule keeps is what typing says
    CHECK(types_of(e.right(), e.variables()) == e.right_types());
    CHECK(e.unlike_outputs().empty());
    for (std::uint64_t seed = 100; seed < 108; ++seed)
      CHECK_MESSAGE(equal_at(r.equation, seed), to_text(r.source(), r.equation.variables()), " -> ",
                    to_text(r.target(), r.equation.variables()));
  }
}

TEST_CASE("a rule can be found by its source, which has all that its target needs") {
  std::set<std::string> names;
  for (const Rule& r : all_rules().rules) {
    CHECK(names.insert(r.name).second);
    std::set<int> known;
    for (const Node& n : r.source().nodes)
      if (n.kind == Kind::variable) known.insert(n.variable);
    for (const std::uint8_t o : r.source().outputs) CHECK(r.source().nodes[o].kind != Kind::variable);
    for (const Node& n : r.target().nodes)
      if (n.kind == Kind::variable) CHECK(known.contains(n.variable));
  }
}

TEST_CASE("the same rules come out of any number of processes") {
  const GenerateConfig config{.operators = 2, .processes = 1, .families = {"layout", "matrix"}};
  GenerateConfig three = config;
  three.processes = 3;
  const Generated a = generate(config), b = generate(three);
  REQUIRE(a.rules.size() == b.rules.size());
  for (std::size_t i = 0; i < a.rules.size(); ++i) {
    CHECK(a.rules[i].name == b.rules[i].name);
    CHECK(a.rules[i].axioms == b.rules[i].axioms);
    CHECK(a.rules[i].source() == b.rules[i].source());
  }
}

TEST_CASE("sharded forms of an operator need no discovery") {
  const Setting s{.family = "test",
                  .use = SettingUse::shard,
                  .variables = variables({"x: [m, k]"}),
                  .operators = {{.kind = Kind::softmax},
                                {.kind = Kind::partition, .axis = 0, .degree = {{1, 0, 0}}},
                                {.kind = Kind::combine, .axis = 0, .degree = {{1, 0, 0}}},
                                {.kind = Kind::partition, .axis = 1, .degree = {{1, 0, 0}}},
                                {.kind = Kind::combine, .axis = 1, .degree = {{1, 0, 0}}}}};
  const std::vector<Equation> forms = sharded_forms(s);
  REQUIRE(forms.size() == 1);  // not along the rows that it is opaque across
  CHECK(to_text(forms[0].right, forms[0].variables) == "combine[0, d](softmax(partition[0, d](x)))");
}
