#include "search/rules/proof/prove.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "equations.hpp"
#include "search/rules/language/typing.hpp"
#include "search/rules/proof/saturation.hpp"
#include "search/rules/semantics/values.hpp"

using namespace rules;

namespace {

// What the papers and the published rules say, and steps to known plans.
const char* const kTrue[] = {
    "x: [m, n] | combine[0, d](partition[1, d](partition[0, d](x))) = partition[1, d](x)",
    "x: [m, n] | partition[0, d](x) = combine[1, d](partition[0, d](partition[1, d](x)))",
    "x: [m/e, n] copy d | combine[0, e](replicate[d](x)) = replicate[d](combine[0, e](x))",
    "x: [m, k] | w: [k, n] | linear[relu](partition[0, d](x), replicate[d](w)) = relu(partition[0, d](linear(x, w)))",
    "x: [m, k] | w: [k, n] | linear(x, w) = reduce[d](linear(partition[1, d](x), partition[0, d](w)))",
    "x: [m, n] | y: [m, n] | add(x, y) = reduce[2](summands(x, y))",
    "x: [m, n] | y: [m, n] | add(x, reduce[2](summands(y, y))) = add(y, add(y, x))",
    "x: [m, k] | w: [k, n] | linear(reduce[2](summands(x, x)), w) = linear(x, reduce[2](summands(w, w)))",
    "x: [m, k] | w: [k, n] | v: [k, l] | concat[1](linear[relu](x, w), linear[relu](x, v)) = linear[relu](x, concat[1](w, v))",
    "x: [m, k] | w: [k, n] | v: [k, l] | relu(linear(x, w)) ; linear[relu](x, v) = split0[1 at w.1](linear[relu](x, concat[1](w, v))) ; "
    "split1[1 at w.1](linear[relu](x, concat[1](w, v)))",
    "x: [m, n] | y: [l, n] | partition[1, d](x) ; partition[1, d](y) = split0[0 at x.0](partition[1, d](concat[0](x, y))) ; split1[0 at "
    "x.0](partition[1, d](concat[0](x, y)))",
    "x: [m, k] | w: [k, h] | v: [h, n] | linear(linear[relu](x, w), v) = reduce[d](linear(linear[relu](replicate[d](x), partition[1, "
    "d](w)), "
    "partition[0, d](v)))",
    "x: [b, m, k] | w: [b, k, n] | batch_matmul(x, w) = combine[0, d](batch_matmul(partition[0, d](x), partition[0, d](w)))",
    "x: [m, n] | y: [m, n] | z: [m, n] | multiply(z, multiply(z, multiply(x, y))) = multiply(multiply(y, z), multiply(x, z))",
    "x: [m, n] | y: [m, n] | z: [m, n] | multiply(z, add(y, multiply(x, y))) = add(multiply(y, z), multiply(x, multiply(y, z)))",
    "x: [m, k] | y: [k, n] | concat[0](x, x) = transpose(concat[1](transpose(x), transpose(x)))",
    "x: [n, c, h, w] | k: [o, c, 1, 1] | q: [p, c, 3, 3] | concat[1](conv(x, k), conv(x, q)) = conv(x, concat[0](enlarge(k), q))",
    "i: [n, b] index | t: [v, e] | embedding_bag(i, t) = reduce[d](embedding_bag(replicate[d](i), partition[0, d](t)))"};

}  // namespace

TEST_CASE("Known equalities are proved, and say by which axioms") {
  Prover prover(axioms());
  for (const char* line : kTrue) {
    CAPTURE(line);
    const Proof p = prover.prove(typed(line));
    CHECK(p.verdict == Verdict::proved);
    CHECK_FALSE(p.axioms.empty());
  }
}

TEST_CASE("A proof names what it needs and nothing else") {
  Prover prover(axioms());
  const Proof p = prover.prove(
      typed("x: [m, k] | w: [k, n] | linear[relu](partition[0, d](x), replicate[d](w)) = relu(partition[0, d](linear(x, w)))"));
  CHECK(p.axioms == std::vector<std::string>{"linear.activation", "linear.partition_rows"});
}

TEST_CASE("Sides that differ are refuted, with sizes and values") {
  Prover prover(axioms());
  const Proof p = prover.prove(typed("x: [m, n] | y: [m, n] | add(x, y) = add(x, x)"));
  REQUIRE(p.verdict == Verdict::refuted);
  CHECK(p.counterexample->find("on the left") != std::string::npos);
}

TEST_CASE("A true rule of a function that has a stand-in is not proved, and never false") {
  Prover prover(axioms());
  const auto why = [&](const std::string& text) {
    const Proof p = prover.prove(typed(text));
    return p.verdict == Verdict::proved ? "proved" : why_not_proved(p);
  };
  for (const std::string equal : {"relu(relu(x)) = relu(x)", "relu2(x) = multiply(relu(x), relu(x))", "relu2(relu(x)) = relu2(x)"})
    CHECK(why("x: [m, n] | " + equal).starts_with("not proved: relu"));
  CHECK(why("x: [m, n] | relu2(x) = multiply(relu(x), relu(x))") == "not proved: relu, relu2 are opaque here");
  CHECK(why("x: [n, c, h, w] | max_pool(relu(x)) = relu(max_pool(x))") == "not proved: max_pool, relu are opaque here");
  CHECK(why("x: [n, c, h, w] | average_pool(relu(x)) = relu(average_pool(relu(x)))") == "not proved: relu is opaque here");
  CHECK(why("x: [m, n] | relu(gelu(x)) = gelu(relu(x))") == "not proved: gelu, relu are opaque here");
  CHECK(why("x: [m, n] | softmax(softmax(x)) = softmax(x)") == "not proved: softmax is opaque here");
  // What relu and max pools really do makes these differ; the others differ by no function.
  CHECK(why("x: [m, n] | relu(x) = x").starts_with("false: x ["));
  CHECK(why("x: [m, n] | y: [m, n] | add(relu(x), relu(y)) = relu(add(x, y))").starts_with("false: "));
  CHECK(why("x: [m, k] | w: [k, n] | linear[relu](relu(x), w) = linear[relu](x, w)").starts_with("false: "));
  CHECK(why("x: [n, c, h, w] | y: [n, c, h, w] | max_pool(add(x, y)) = add(max_pool(x), max_pool(y))").starts_with("false: "));
}

TEST_CASE("An axiom left out is not used; equal sides are proved without any") {
  Prover prover(axioms());
  const TypedEquation e = typed("x: [m, n] | y: [m, n] | multiply(x, y) = multiply(y, x)");
  const Proof p = prover.prove(e);
  REQUIRE(p.axioms.size() == 1);
  const auto entry = std::ranges::find(axioms().entries, p.axioms[0], &AxiomEntry::name) - axioms().entries.begin();
  CHECK(prover.prove(e, static_cast<std::size_t>(entry)).verdict == Verdict::open);
  const Axioms none;
  Prover with_none(none);
  CHECK(with_none.prove(e).verdict == Verdict::open);
  CHECK(with_none.prove(typed("x: [m, n] | relu(x) = relu(x)")).verdict == Verdict::proved);
}

TEST_CASE("Axioms about ungrouped convolutions are not used on grouped ones") {
  // 2 c input channels, kernels for c: both sides are well typed, and differ.
  Prover prover(axioms());
  const Proof p = prover.prove(typed(
      "x: [n, 2c, h, w] | k: [2o, c, 3, 3] | y: [n, 2c, h, w] | l: [2o, c, 3, 3] | add(conv(x, k), conv(y, l)) = conv(concat[1](x, y), "
      "concat[1](k, l))"));
  CHECK(p.verdict == Verdict::refuted);
}

TEST_CASE("What the e-graph makes equal has equal values: equations with a change somewhere") {
  const Patterns patterns = compile(axioms());
  CHECK(rc::check("a merged pair of sides is equal at sizes and values that no proof looks at", [&] {
    Equation e = equation(*rc::gen::elementOf(std::vector<const char*>(std::begin(kTrue), std::end(kTrue))));
    Term& side = *rc::gen::arbitrary<bool>() ? e.left : e.right;
    Node& n = side.nodes[*rc::gen::inRange<std::size_t>(0, side.nodes.size())];
    switch (*rc::gen::inRange(0, 5)) {
      case 0: n.axis = *rc::gen::inRange<std::uint8_t>(0, 3); break;
      case 1:
        if (n.kind == Kind::variable) n.variable = *rc::gen::inRange<std::uint8_t>(0, static_cast<std::uint8_t>(e.variables.size()));
        break;
      case 2:
        if (n.function != Function::none) n.function = *rc::gen::element(Function::relu, Function::tanh);
        break;
      case 3:
        if (n.kind == Kind::add || n.kind == Kind::multiply) n.kind = *rc::gen::element(Kind::add, Kind::multiply);
        break;
      default:
        if (n.inputs.size() == 2) std::swap(n.inputs[0], n.inputs[1]);
    }
    side = canonical(side);
    const auto typed = TypedEquation::make(e);
    RC_PRE(typed.has_value());  // on its own: RapidCheck's macros look at both sides of an &&
    RC_PRE(typed->unlike_outputs().empty());
    Saturation s(patterns, *typed, std::nullopt);
    if (!s.grow(5, 1500, std::bitset<kKinds>().set())) return;
    for (const std::uint64_t seed : {101U, 102U}) {
      const SmallSizes sizes(e.variables, seed);
      const auto a = values_of(e.left, e.variables, sizes, seed), b = values_of(e.right, e.variables, sizes, seed);
      for (std::size_t o = 0; o < e.left.outputs.size(); ++o) RC_ASSERT(a[e.left.outputs[o]] == b[e.right.outputs[o]]);
    }
  }));
}
