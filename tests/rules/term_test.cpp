#include "search/rules/language/term.hpp"
#include "search/rules/language/text.hpp"

#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/language/typing.hpp"
#include "search/rules/semantics/values.hpp"
#include "tests/rules/equations.hpp"

using namespace rules;

namespace {

// The text of the type of a term's first output, "ill typed" if it has none.
std::string output_type(std::string_view text, const std::vector<Variable>& v) {
  const Term t = parse_term(text, v);
  const auto types = types_of(t, v);
  return types ? to_text(Variable{"out", (*types)[t.outputs[0]]}) : "ill typed";
}

void check_equal(std::string_view left, std::string_view right, const std::vector<Variable>& v, bool equal = true) {
  const Term l = parse_term(left, v), r = parse_term(right, v);
  REQUIRE(types_of(l, v));
  REQUIRE(types_of(r, v));
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const SmallSizes sizes(v, seed);
    const Value a = values_of(l, v, sizes, seed)[l.outputs[0]], b = values_of(r, v, sizes, seed)[r.outputs[0]];
    CHECK_MESSAGE((a == b) == equal, left, " and ", right);
  }
}

std::string error(auto&& f) {
  try {
    f();
  } catch (const base::InputError& e) { return std::to_string(e.diagnostics()[0].mark.column) + ": " + e.diagnostics()[0].message; }
  return "none";
}

}  // namespace

TEST_CASE("variables and terms are read and written alike") {
  for (const char* text : {"x: [m/d, k] sum e", "w: [k, n] copy d", "s: []", "i: [n, b] index", "k: [o, c, 3, 3]", "y: [n, 2c+m/d*e]",
                           "z: [2]", "t: [m/2*2*2*2] sum d*2*2*2"})
    CHECK(to_text(parse_variable(text)) == text);
  const auto v = variables({"x: [m, k]", "w: [k, n]", "u: [k, o]", "y: [m, n]"});
  for (const char* text : {"add(linear[relu](x, w), relu(y))", "split0[1 at w.1](linear(x, concat[1](w, u)))", "concat[0](x, x) ; y", "x",
                           "reduce[d](linear(partition[1, d](x), partition[0, d](w)))", "linear(x, identity[x.1])",
                           "reduce[2](summands(y, y))", "ones[x.0, w.1]", "split1[1 at x.1+x.1](concat[1](concat[1](x, x), y))"})
    CHECK(to_text(parse_term(text, v), v) == text);
  // A place that no dims add up to is named by letters of sizes; a dim goes first.
  const auto sums = variables({"x: [m, k+n]", "y: [m, 2a+n]", "z: [l, a]"});
  for (const char* text : {"split0[1 at k](x)", "split1[1 at a+n](y)", "split0[1 at z.1](y)"})
    CHECK(to_text(parse_term(text, sums), sums) == text);
  CHECK(to_text(parse_term("split0[1 at a](y)", sums), sums) == "split0[1 at z.1](y)");
  CHECK(parse_term("split0[1 at k](x)", sums).nodes[1].at == symbol('k'));
}

TEST_CASE("an occurrence knows the sizes that its tensors and splits identify") {
  const auto v = variables({"x: [m, k+n]", "y: [m, k]", "z: [m, a+k+n]"});
  CHECK(knows_its_sizes(parse_term("split0[1 at k](x)", v), v));
  CHECK(knows_its_sizes(parse_term("concat[1](x, y)", v), v));  // y says k, and then x says n
  CHECK(knows_its_sizes(parse_term("concat[1](concat[1](x, y), z)", v), v));
  CHECK_FALSE(knows_its_sizes(parse_term("relu(x)", v), v));
  CHECK_FALSE(knows_its_sizes(parse_term("concat[1](y, z)", v), v));
}

TEST_CASE("degrees are known by their values in the assignments") {
  for (std::uint8_t d = 0; d < 5; ++d)
    for (std::uint8_t e = 0; e < 5; ++e)
      for (std::uint8_t two = 0; two < 8; ++two) {
        const Degree power{{d, e, two}};
        CHECK(degree_from(values(power)) == power);
      }
  // each is some symbol's in one assignment, none in all
  for (const Numbers& n : {Numbers{3, 3, 3}, Numbers{2, 3, 2}, Numbers{7, 7, 7}, Numbers{1, 1, 2}, Numbers{0, 0, 0}, Numbers{-2, -2, -2}})
    CHECK_FALSE(degree_from(n));
}

TEST_CASE("equal operators of a term are one node, variables come first") {
  const auto v = variables({"x: [m, k]", "w: [k, n]"});
  const Term t = parse_term("add(linear(x, w), relu(linear(x, w)))", v);
  CHECK(t.operators() == 3);
  CHECK(t.nodes[0].kind == Kind::variable);
  CHECK(t.nodes[1].kind == Kind::variable);
  CHECK(canonical(t) == t);
}

TEST_CASE("what is wrong with a text is said with its column") {
  const auto v = variables({"x: [m, k]"});
  CHECK(error([&] { (void)parse_term("relv(x)", v); }) == "1: \"relv\" is neither an operator nor a variable");
  CHECK(error([&] { (void)parse_term("add(x, y)", v); }) == "8: \"y\" is neither an operator nor a variable");
  CHECK(error([&] { (void)parse_term("add(x)", v); }) == "6: found \")\", expected \",\"");
  CHECK(error([&] { (void)parse_term("split0[1 at x.2](x)", v); }) == "13: x has no dim 2");
  CHECK(error([&] { (void)parse_term("split0[1 at q](x)", v); }) == "13: \"q\" is no variable");
  CHECK(error([&] { (void)parse_term("partition[0, f](x)", v); }) == "14: \"f\" is no degree");
  CHECK(error([&] { (void)parse_term("x x", v); }) == "3: \"x\" is left over");
  CHECK(error([] { (void)parse_variable("x: [m, k"); }) == "9: found the end, expected \",\"");
}

TEST_CASE("parallel linears are typed as their loops are cut") {
  const auto v = variables({"x: [m, k]", "w: [k, n]"});
  CHECK(output_type("linear(replicate[d](x), partition[1, d](w))", v) == "out: [m, n/d]");
  CHECK(output_type("linear(partition[0, d](x), replicate[d](w))", v) == "out: [m/d, n]");
  CHECK(output_type("linear(partition[1, d](x), partition[0, d](w))", v) == "out: [m, n] sum d");
  CHECK(output_type("linear[relu](partition[1, d](x), partition[0, d](w))", v) == "ill typed");
  CHECK(output_type("relu(linear(partition[1, d](x), partition[0, d](w)))", v) == "ill typed");
  CHECK(output_type("linear(partition[1, d](x), partition[0, e](w))", v) == "ill typed");
  CHECK(output_type("reduce[2](summands(x, x))", v) == "out: [m, k]");
  CHECK(output_type("replicate[d*e](partition[0, e](x))", v) == "out: [m/e, k] copy d*e");
}

TEST_CASE("laws hold and what is no law does not") {
  const auto v = variables({"x: [m, k]", "y: [m, k]", "w: [k, n]", "u: [k, o]", "z: [m, o]", "s: []", "g: [k]", "h: [k]"});
  check_equal("linear(add(x, y), w)", "add(linear(x, w), linear(y, w))", v);
  check_equal("linear(x, concat[1](w, u))", "concat[1](linear(x, w), linear(x, u))", v);
  check_equal("split0[1 at w.1](linear(x, concat[1](w, u)))", "linear(x, w)", v);
  check_equal("linear[relu](x, w)", "relu(linear(x, w))", v);
  check_equal("transpose(linear(x, w))", "linear(transpose(w), transpose(x))", v);
  check_equal("linear(x, identity[x.1])", "multiply(x, ones[x.0, x.1])", v);
  check_equal("scale(linear(x, w), s)", "linear(scale(x, s), w)", v);
  check_equal("layer_norm(concat[0](x, y), g, h)", "concat[0](layer_norm(x, g, h), layer_norm(y, g, h))", v);
  check_equal("softmax(concat[0](x, y))", "concat[0](softmax(x), softmax(y))", v);
  check_equal("relu(add(x, y))", "add(relu(x), relu(y))", v, false);
  check_equal("relu(x)", "gelu(x)", v, false);
  check_equal("softmax(x)", "relu(x)", v, false);
}

TEST_CASE("images, batches and tables mean what they should") {
  const auto i = variables({"x: [n, c, h, w]", "y: [n, c, h, w]", "k: [o, c, 3, 3]", "l: [p, c, 1, 3]", "q: [c, 1, 3, 3]"});
  check_equal("conv(x, identity_kernel[x.1])", "x", i);
  check_equal("conv(x, pool_kernel[x.1])", "average_pool(x)", i);
  check_equal("average_pool(identity_kernel[x.1])", "pool_kernel[x.1]", i);
  check_equal("conv(x, l)", "conv(x, enlarge(l))", i);
  check_equal("conv(x, concat[0](k, enlarge(l)))", "concat[1](conv(x, k), conv(x, l))", i);
  check_equal("conv(concat[1](x, y), concat[1](k, k))", "conv(add(x, y), k)", i);
  check_equal("conv(concat[1](x, y), concat[0](q, q))", "concat[1](conv(x, q), conv(y, q))", i);  // depthwise
  check_equal("max_pool(concat[1](x, y))", "concat[1](max_pool(x), max_pool(y))", i);
  check_equal("max_pool(x)", "average_pool(x)", i, false);
  const auto b = variables({"a: [b, m, k]", "c: [b, k, n]", "f: [b, k, o]"});
  check_equal("batch_matmul(a, concat[2](c, f))", "concat[2](batch_matmul(a, c), batch_matmul(a, f))", b);
  check_equal("transpose(batch_matmul(a, c))", "batch_matmul(transpose(c), transpose(a))", b);
  const auto e = variables({"i: [n, b] index", "j: [m, b] index", "w: [v, e]", "u: [v, o]"});
  check_equal("embedding(concat[0](i, j), w)", "concat[0](embedding(i, w), embedding(j, w))", e);
  check_equal("embedding_bag(i, w)", "sum[1](embedding(i, w))", e);
  check_equal("embedding_bag(i, concat[1](w, u))", "concat[1](embedding_bag(i, w), embedding_bag(i, u))", e);
}

TEST_CASE("operators compute by hand") {
  const auto v = variables({"x: [2, 2]", "y: [1, 1, 2, 2]", "k: [1, 1, 3, 1]", "i: [2, 2] index", "q: [1, 2, 3]"});
  const SmallSizes sizes(v, 1);
  const Value x{{2, 2}, {1, 2, 3, 4}}, y{{1, 1, 2, 2}, {1, 2, 3, 4}}, k{{1, 1, 3, 1}, {1, 10, 100}}, i{{2, 2}, {0, 1, 1, 1}};
  const auto run = [&](std::string_view text, std::vector<const Value*> in) {
    const Term t = parse_term(text, v);
    return value_of(t.nodes.back(), in, sizes).elements;
  };
  using Elements = std::vector<std::uint32_t>;
  CHECK(run("linear(x, x)", {&x, &x}) == Elements{7, 10, 15, 22});
  CHECK(run("transpose(x)", {&x}) == Elements{1, 3, 2, 4});
  CHECK(run("sum[0](x)", {&x}) == Elements{4, 6});
  CHECK(run("sum[1](x)", {&x}) == Elements{3, 7});
  CHECK(run("sum[2](y)", {&y}) == Elements{4, 6});
  CHECK(run("concat[0](x, x)", {&x, &x}) == Elements{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(run("concat[1](x, x)", {&x, &x}) == Elements{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(run("split1[1 at y.0](x)", {&x}) == Elements{2, 4});
  CHECK(run("split0[0 at y.0](x)", {&x}) == Elements{1, 2});
  CHECK(run("conv(y, k)", {&y, &k}) == Elements{10 * 1 + 100 * 3, 10 * 2 + 100 * 4, 1 * 1 + 10 * 3, 1 * 2 + 10 * 4});
  CHECK(run("embedding_bag(i, x)", {&i, &x}) == Elements{1 + 3, 2 + 4, 3 + 3, 4 + 4});
  CHECK(run("embedding(i, x)", {&i, &x}) == Elements{1, 2, 3, 4, 3, 4, 3, 4});
  CHECK(run("enlarge(k)", {&k}) == Elements{0, 1, 0, 0, 10, 0, 0, 100, 0});
  CHECK(run("ones[x.0, x.1]", {}) == Elements{1, 1, 1, 1});
}

TEST_CASE("small sizes of different symbols differ, sums add up") {
  const auto v = variables({"x: [m, k]", "w: [k+n, 3]"});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const SmallSizes sizes(v, seed);
    const auto m = sizes.of(symbol('m')), k = sizes.of(symbol('k')), n = sizes.of(symbol('n'));
    CHECK(m != k);
    CHECK(k != n);
    CHECK(m != n);
    Numbers sum = symbol('k');
    for (std::size_t a = 0; a < sum.size(); ++a) sum[a] += symbol('n')[a];
    CHECK(sizes.of(sum) == k + n);
    CHECK(sizes.of({3, 3, 3}) == 3);
    CHECK_THROWS_AS((void)sizes.of(symbol('o')), std::logic_error);
  }
}
