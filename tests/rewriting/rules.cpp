#include "rules.hpp"
#include "search/rules/language/text.hpp"

#include <algorithm>
#include <sstream>

namespace rules::rewriting {
bool invents_nothing(const Rule& r) {
  return std::ranges::all_of(r.target().nodes, [&](const Node& n) {
    return n.kind != Kind::variable ||
           std::ranges::any_of(r.source().nodes, [&](const Node& m) { return m.kind == Kind::variable && m.variable == n.variable; });
  });
}

Rule rule(const std::string& name, const std::string& variables, const std::string& left, const std::string& right) {
  Equation e;
  std::istringstream texts(variables);
  for (std::string text; std::getline(texts, text, ';');) e.variables.push_back(parse_variable(text));
  e.left = parse_term(left, e.variables);
  e.right = parse_term(right, e.variables);
  return {.name = name, .equation = TypedEquation::make(std::move(e)).value(), .axioms = {}};
}

Rule reversed(Rule r) {
  r.forward = !r.forward;
  r.name += "'";
  return r;
}

const std::map<std::string, Rule>& catalogue() {
  static const std::map<std::string, Rule> all = [] {
    const std::string xw = "x: [m, k]; w: [k, n]", xy = "x: [m, n]; y: [m, n]";
    const std::vector<Rule> rules{
        rule("A1 rows", "x: [m, n]", "combine[0, d](partition[0, d](x))", "x"),
        rule("A1 columns", "x: [m, n]", "combine[1, d](partition[1, d](x))", "x"),
        rule("A1 image", "x: [n, c, h, w]", "combine[2, d](partition[2, d](x))", "x"),
        rule("A2", "x: [m/d, n]", "partition[0, d](combine[0, d](x))", "x"),
        rule("A2 columns", "x: [m, n/d]", "partition[1, d](combine[1, d](x))", "x"),
        rule("A7", "x: [m, n]", "partition[0, d](partition[1, e](x))", "partition[1, e](partition[0, d](x))"),
        rule("A8", "x: [m, n]", "replicate[e](partition[0, d](x))", "partition[0, d](replicate[e](x))"),
        rule("B1", xw, "linear(partition[0, d](x), replicate[d](w))", "partition[0, d](linear(x, w))"),
        rule("B1 gelu", xw, "linear[gelu](partition[0, d](x), replicate[d](w))", "partition[0, d](linear[gelu](x, w))"),
        rule("B2", xw, "linear(replicate[d](x), partition[1, d](w))", "partition[1, d](linear(x, w))"),
        rule("B2 relu", xw, "linear[relu](replicate[d](x), partition[1, d](w))", "partition[1, d](linear[relu](x, w))"),
        rule("B3", xw, "reduce[d](linear(partition[1, d](x), partition[0, d](w)))", "linear(x, w)"),
        rule("B4", xw, "linear(replicate[d](x), replicate[d](w))", "replicate[d](linear(x, w))"),
        rule("B7 rows", "x: [m/d, k]; w: [k, n]", "linear(combine[0, d](x), w)", "combine[0, d](linear(x, replicate[d](w)))"),
        rule("B7", "x: [m, k/d]; w: [k, n]", "linear(combine[1, d](x), w)", "reduce[d](linear(x, partition[0, d](w)))"),
        rule("B5", "x: [m, k] sum d; w: [k, n]", "linear(reduce[d](x), w)", "reduce[d](linear(x, replicate[d](w)))"),
        rule("B6", "x: [m, k]; w: [k, n] sum d", "linear(x, reduce[d](w))", "reduce[d](linear(replicate[d](x), w))"),
        rule("C1", xw, "linear[relu](x, w)", "relu(linear(x, w))"),
        rule("C2", xw + "; b: [n]", "linear_bias(replicate[d](x), partition[1, d](w), partition[0, d](b))",
             "partition[1, d](linear_bias(x, w, b))"),
        rule("E1 rows", "x: [m, n]", "relu(partition[0, d](x))", "partition[0, d](relu(x))"),
        rule("E2", "x: [m, n/d]", "gelu(combine[1, d](x))", "combine[1, d](gelu(x))"),
        rule("E3", "x: [m, n]", "relu(replicate[d](x))", "replicate[d](relu(x))"),
        rule("F0", xy, "add(x, y)", "add(y, x)"),
        rule("F1", xy, "add(partition[0, d](x), partition[0, d](y))", "partition[0, d](add(x, y))"),
        rule("F3", "x: [m, n] sum d; y: [m, n] sum d", "add(reduce[d](x), reduce[d](y))", "reduce[d](add(x, y))"),
        rule("F4", "x: [m, n] sum d; y: [m, n]", "multiply(reduce[d](x), y)", "reduce[d](multiply(x, replicate[d](y)))"),
        rule("F5", "x: [m, n] sum d; y: [m, n]", "add(reduce[d](x), y)", "reduce[d](add(x, replicate[d](y)))"),
        rule("F6", xy, "add(x, y)", "reduce[2](summands(x, y))"),
        rule("G1", "x: [m, k]; y: [m, n]", "concat[1](partition[0, d](x), partition[0, d](y))", "partition[0, d](concat[1](x, y))"),
        rule("G1 combine", "x: [m/d, k]; y: [m/d, n]", "concat[1](combine[0, d](x), combine[0, d](y))", "combine[0, d](concat[1](x, y))"),
        rule("G4", "x: [m, k+n]; u: [k, j]", "split0[1 at u.0](partition[0, d](x)) ; split1[1 at u.0](partition[0, d](x))",
             "partition[0, d](split0[1 at u.0](x)) ; partition[0, d](split1[1 at u.0](x))"),
        rule("H1", "x: [m, n]", "transpose(partition[0, d](x))", "partition[1, d](transpose(x))"),
        rule("I1", "x: [n, c, h, v]; w: [o, c, 3, 3]", "conv(partition[0, d](x), replicate[d](w))", "partition[0, d](conv(x, w))"),
        rule("I2", "x: [n, c, h, v]; w: [o, c, 3, 3]", "conv(replicate[d](x), partition[0, d](w))", "partition[1, d](conv(x, w))"),
        rule("I3", "x: [n, c, h, v]; w: [o, c, 3, 3]", "reduce[d](conv(partition[1, d](x), partition[1, d](w)))", "conv(x, w)"),
        rule("I5", "x: [n, c, h, v]; w: [o, c, 3, 3]", "conv(partition[2, d](x), replicate[d](w))", "partition[2, d](conv(x, w))"),
        rule("J1", "x: [n, c, h, v]", "max_pool(partition[1, d](x))", "partition[1, d](max_pool(x))"),
        rule("K1", "x: [m, n]", "softmax(partition[0, d](x))", "partition[0, d](softmax(x))"),
        rule("L2", "i: [n, b] index; w: [v, e]", "embedding(replicate[d](i), partition[1, d](w))", "partition[2, d](embedding(i, w))"),
        rule("L3", "i: [n, b] index; w: [v, e]", "reduce[d](embedding(replicate[d](i), partition[0, d](w)))", "embedding(i, w)"),
        rule("L4", "i: [n, b] index; w: [v, e]", "reduce[d](embedding_bag(partition[1, d](i), replicate[d](w)))", "embedding_bag(i, w)"),
        rule("L5", "i: [n, b] index; w: [v, e]", "embedding_bag(i, w)", "sum[1](embedding(i, w))"),
        rule("L1 bag", "i: [n, b] index; w: [v, e]", "combine[1, d](embedding(partition[1, d](i), replicate[d](w)))", "embedding(i, w)"),
        rule("M2", "x: [m, k/d, n]", "sum[1](combine[1, d](x))", "reduce[d](sum[1](x))"),
        rule("N2", "x: [b, s, 3h/d]", "attention(combine[2, d](x))", "combine[2, d](attention(x))"),
        // TASO's, by their numbers there
        rule("T17", "x: [n, c, h, v]; y: [o, c, 3, 3]; z: [o, c, 3, 3]", "conv(x, add(y, z))", "add(conv(x, y), conv(x, z))"),
        rule("T20", "x: [m, k]; z: [m, l]; y: [k, n]; w: [l, n]", "add(linear(x, y), linear(z, w))",
             "linear(concat[1](x, z), concat[0](y, w))"),
        rule("T24", "x: [n, c, h, v]; y: [o, c, 3, 3]; z: [p, c, 3, 3]", "concat[1](conv(x, y), conv(x, z))", "conv(x, concat[0](y, z))"),
        rule("T24 split", "x: [n, c, h, v]; y: [o, c, 3, 3]; z: [p, c, 3, 3]", "conv[relu](x, y) ; conv[relu](x, z)",
             "split0[1 at y.0](conv[relu](x, concat[0](y, z))) ; split1[1 at y.0](conv[relu](x, concat[0](y, z)))"),
        rule("T25", "x: [m, k]; y: [k, l]; z: [l, n]", "linear(x, linear(y, z))", "linear(linear(x, y), z)"),
        rule("T26", "x: [m, k]; y: [m, n]", "split0[1 at x.1](concat[1](x, y))", "x"),
        rule("T28", "x: [m, k]; y: [k, n]; z: [k, l]", "concat[1](linear(x, y), linear(x, z))", "linear(x, concat[1](y, z))"),
        rule("T28 split", "x: [m, k]; y: [k, n]; z: [k, l]", "linear(x, y) ; linear(x, z)",
             "split0[1 at y.1](linear(x, concat[1](y, z))) ; split1[1 at y.1](linear(x, concat[1](y, z)))"),
        rule("T28 biased split", "x: [m, k]; w: [k, n]; b: [n]; u: [k, l]; c: [l]", "linear_bias(x, w, b) ; linear_bias(x, u, c)",
             "split0[1 at w.1](linear_bias(x, concat[1](w, u), concat[0](b, c))) ; split1[1 at w.1](linear_bias(x, concat[1](w, u), "
             "concat[0](b, c)))"),
        rule("T24 biased split", "x: [n, c, h, v]; y: [o, c, 3, 3]; b: [o]; z: [p, c, 3, 3]; d: [p]",
             "conv_bias[relu](x, y, b) ; conv_bias[relu](x, z, d)",
             "split0[1 at y.0](conv_bias[relu](x, concat[0](y, z), concat[0](b, d))) ; split1[1 at y.0](conv_bias[relu](x, "
             "concat[0](y, z), concat[0](b, d)))"),
        rule("T29", "x: [m, k]; y: [k, n]; z: [k, n]", "linear(x, add(y, z))", "add(linear(x, y), linear(x, z))"),
        rule("T30", "x: [m, n]", "transpose(transpose(x))", "x"),
        rule("T31", xw, "transpose(linear(x, w))", "linear(transpose(w), transpose(x))"),
        rule("split and concat", "x: [k+n, m]; u: [k, j]", "concat[0](split0[0 at u.0](x), split1[0 at u.0](x))", "x"),
    };
    std::map<std::string, Rule> result;
    for (const Rule& r : rules) {
      if (invents_nothing(r)) result.emplace(r.name, r);
      if (const Rule back = reversed(r); invents_nothing(back)) result.emplace(back.name, back);
    }
    return result;
  }();
  return all;
}

}  // namespace rules::rewriting
