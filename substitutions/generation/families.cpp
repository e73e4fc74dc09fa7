// The settings. Names of variables: x, y, z activations, w, u, v weights, s a scalar; a digit tells variables of different layouts.

#include "substitutions/generation/families.hpp"

#include <algorithm>

namespace substitutions {
namespace {

constexpr Degree kD{{1, 0, 0}}, kE{{0, 1, 0}}, kTwo{{0, 0, 1}};
using Operators = std::vector<Node>;
using Texts = std::vector<std::string>;

Node plain(Kind k, Function f = Function::none) { return {.kind = k, .function = f}; }
Node along(Kind k, std::uint8_t axis) { return {.kind = k, .axis = axis}; }
Node layout(Kind k, Degree d, std::uint8_t axis = 0) { return {.kind = k, .axis = axis, .degree = d}; }

std::vector<Variable> variables(const Texts& texts) {
  std::vector<Variable> all;
  for (const std::string& t : texts) all.push_back(parse_variable(t));
  return all;
}

Operators joined(std::initializer_list<Operators> all) {
  Operators result;
  for (const Operators& o : all) result.insert(result.end(), o.begin(), o.end());
  return result;
}

// Fused first: what is preferred among equals.
Operators linears() { return {plain(Kind::linear), plain(Kind::linear, Function::relu)}; }
Operators convs() { return {plain(Kind::conv), plain(Kind::conv, Function::relu)}; }
Operators relu() { return {plain(Kind::unary, Function::relu)}; }
Operators elementwise() { return joined({relu(), {plain(Kind::add), plain(Kind::multiply)}}); }

Operators along_each(Kind k, std::initializer_list<std::uint8_t> axes) {
  Operators all;
  for (const std::uint8_t a : axes) all.push_back(along(k, a));
  return all;
}
Operators concats(std::initializer_list<std::uint8_t> axes) { return along_each(Kind::concat, axes); }
// Both parts, cut after each of these sizes ("k", "m").
Operators splits(std::uint8_t axis, std::string_view letters) {
  Operators all;
  for (const char c : letters)
    for (const Kind k : {Kind::split0, Kind::split1}) all.push_back({.kind = k, .axis = axis, .at = symbol(c)});
  return all;
}
Operators constant(Kind k, char at, char by = 0) { return {{.kind = k, .at = symbol(at), .by = by != 0 ? symbol(by) : Numbers{}}}; }
Operators layouts(Degree d, std::initializer_list<std::uint8_t> axes) {
  Operators all;
  for (const std::uint8_t a : axes) {
    all.push_back(layout(Kind::partition, d, a));
    all.push_back(layout(Kind::combine, d, a));
  }
  all.push_back(layout(Kind::replicate, d));
  all.push_back(layout(Kind::reduce, d));
  return all;
}
Operators sums() { return {plain(Kind::summands), layout(Kind::reduce, kTwo)}; }

void add(std::vector<Setting>& all, std::string family, const Texts& texts, Operators operators) {
  all.push_back({std::move(family), variables(texts), std::move(operators)});
}

void add_matrix(std::vector<Setting>& all) {
  const Node scale = plain(Kind::scale), transpose = plain(Kind::transpose);
  // elementwise, and blocks of one tensor
  add(all, "matrix", {"x: [m, k]", "y: [m, k]", "z: [m, k]", "s: []", "t: []"},
      joined({elementwise(), {scale, transpose}, concats({0, 1}), splits(0, "m"), splits(1, "k")}));
  add(all, "matrix", {"x: [m, k]", "y: [m, n]", "z: [l, k]", "s: []"},
      joined({elementwise(), {scale, transpose}, concats({0, 1}), splits(0, "ml"), splits(1, "kn")}));
  // weights of one shape
  add(all, "matrix", {"x: [m, k]", "y: [m, k]", "w: [k, n]", "u: [k, n]", "z: [m, n]", "s: []"},
      joined({linears(), elementwise(), {scale, transpose}, concats({0, 1}), splits(0, "m"), splits(1, "kn")}));
  // weights of several shapes
  add(all, "matrix", {"x: [m, k]", "z: [l, k]", "w: [k, n]", "u: [k, o]", "v: [k, n]", "s: []"},
      joined({linears(), elementwise(), {scale, transpose}, concats({0, 1}), splits(0, "ml"), splits(1, "no")}));
  // chains and blocks
  add(all, "matrix", {"x: [m, k]", "y: [m, l]", "w: [k, n]", "u: [l, n]", "v: [n, o]", "s: []"},
      joined({linears(), elementwise(), {scale, transpose}, concats({0, 1}), splits(0, "k"), splits(1, "k")}));
  // constants
  add(all, "matrix", {"x: [m, k]", "y: [m, k]", "w: [k, n]"},
      joined({linears(),
              elementwise(),
              {transpose},
              concats({0, 1}),
              constant(Kind::identity, 'k'),
              constant(Kind::identity, 'm'),
              constant(Kind::ones, 'm', 'k')}));
  // biased weights
  add(all, "matrix", {"x: [m, k]", "z: [l, k]", "w: [k, n]", "u: [k, o]", "b: [n]", "c: [o]"},
      joined({{plain(Kind::linear_bias), plain(Kind::linear_bias, Function::relu)},
              relu(),
              concats({0, 1}),
              splits(0, "mn"),
              splits(1, "n")}));
  // blocks of a tensor that nobody put together
  add(all, "matrix", {"x: [m+l, k]", "y: [m+l, k]", "z: [m, k]", "s: []"}, joined({elementwise(), {scale}, concats({0}), splits(0, "m")}));
  add(all, "matrix", {"x: [m, k+n]", "y: [m, k+n]", "z: [m, k]", "s: []"}, joined({elementwise(), {scale}, concats({1}), splits(1, "k")}));
  add(all, "matrix", {"x: [m, k+l]", "y: [l, k]", "w: [k+l, n]", "u: [k, n+o]", "v: [k, n]"},
      joined({linears(), {plain(Kind::add)}, splits(0, "k"), splits(1, "kn")}));
  // rows
  add(all, "matrix", {"x: [m, k]", "y: [m, k]", "z: [l, k]", "g: [k]", "h: [k]"},
      joined({{plain(Kind::softmax), plain(Kind::layer_norm)}, elementwise(), concats({0}), splits(0, "ml")}));
  add(all, "matrix", {"x: [m, k]", "y: [m, k]", "z: [l, k]", "g: [k]", "h: [k]", "s: []"},
      joined({{plain(Kind::rms_norm), scale}, elementwise(), concats({0}), splits(0, "m")}));
}

void add_batched(std::vector<Setting>& all) {
  const Node scale = plain(Kind::scale), transpose = plain(Kind::transpose), product = plain(Kind::batch_matmul);
  add(all, "batched", {"x: [b, m, k]", "y: [b, m, k]", "w: [b, k, n]", "u: [b, k, n]", "s: []"},
      joined({{product}, elementwise(), {scale, transpose}, concats({0, 1, 2}), splits(0, "b"), splits(1, "m"), splits(2, "n")}));
  add(all, "batched", {"x: [b, m, k]", "y: [b, l, k]", "w: [b, k, n]", "u: [b, k, o]", "v: [b, n, p]"},
      joined({{product}, {plain(Kind::add)}, {transpose}, concats({1, 2}), splits(1, "m"), splits(2, "n")}));
  add(all, "batched", {"x: [b, m, k]", "y: [b, m, l]", "z: [c, m, k]", "w: [b, k, n]", "u: [b, l, n]", "v: [c, k, n]"},
      joined({{product}, {plain(Kind::add)}, {transpose}, concats({0, 1, 2}), splits(0, "b"), splits(2, "k")}));
}

// Sums along a dim.
void add_sums(std::vector<Setting>& all) {
  const Node scale = plain(Kind::scale), transpose = plain(Kind::transpose);
  add(all, "sum", {"x: [b, m, k]", "y: [b, m, k]", "z: [b, l, k]", "s: []"},
      joined({along_each(Kind::sum, {0, 1, 2}), {plain(Kind::add), scale, transpose}, concats({1, 2}), splits(1, "m")}));
  add(all, "sum", {"x: [m, k]", "y: [m, k]", "z: [l, k]", "s: []"},
      joined({along_each(Kind::sum, {0, 1}), {plain(Kind::add), scale, transpose}, concats({0, 1}), splits(0, "m")}));
}

void add_image(std::vector<Setting>& all) {
  const Node scale = plain(Kind::scale), max = plain(Kind::max_pool), average = plain(Kind::average_pool), enlarge = plain(Kind::enlarge);
  add(all, "image", {"x: [n, c, h, w]", "y: [n, c, h, w]", "k: [o, c, 3, 3]", "l: [o, c, 3, 3]", "s: []"},
      joined({convs(), elementwise(), {scale}, concats({0, 1}), splits(0, "no"), splits(1, "co")}));
  add(all, "image", {"x: [n, c, h, w]", "z: [m, c, h, w]", "k: [o, c, 3, 3]", "l: [p, c, 1, 1]", "q: [o, c, 1, 3]"},
      joined({convs(), relu(), {plain(Kind::add), enlarge}, concats({0, 1}), splits(0, "nop"), splits(1, "o")}));
  // groups: one channel each; two
  add(all, "image", {"x: [n, c, h, w]", "y: [n, c, h, w]", "k: [c, 1, 3, 3]", "l: [c, 1, 3, 3]", "q: [c, 1, 1, 3]", "s: []"},
      joined({convs(), elementwise(), {scale, enlarge}, concats({0, 1}), splits(0, "nc"), splits(1, "c")}));
  add(all, "image", {"x: [n, 2c, h, w]", "y: [n, c, h, w]", "z: [n, c, h, w]", "k: [2o, c, 3, 3]", "l: [o, c, 3, 3]", "q: [o, c, 3, 3]"},
      joined({convs(), relu(), {plain(Kind::add)}, concats({0, 1})}));
  add(all, "image", {"x: [n, c, h, w]", "y: [n, o, h, w]", "g: [c]", "b: [c]", "u: [o]", "q: [o]"},
      joined({{plain(Kind::batch_norm)}, relu(), {plain(Kind::add)}, concats({0, 1}), splits(1, "c")}));
  add(all, "image", {"x: [n, c, h, w]", "z: [m, c, h, w]", "k: [o, c, 3, 3]", "l: [p, c, 3, 3]", "b: [o]", "d: [p]"},
      joined({{plain(Kind::conv_bias), plain(Kind::conv_bias, Function::relu)}, relu(), concats({0, 1}), splits(0, "no"), splits(1, "o")}));
  add(all, "image", {"x: [n, c, h, w]", "y: [n, c, h, w]", "k: [c, 1, 3, 3]", "l: [c, 1, 3, 3]", "b: [c]", "d: [c]"},
      joined({{plain(Kind::conv_bias), plain(Kind::conv_bias, Function::relu)}, relu(), concats({0, 1}), splits(0, "c"), splits(1, "c")}));
  // two convolutions, one after the other
  add(all, "image", {"x: [n, c, h, w]", "y: [n, e, h, w]", "k: [o, c, 3, 3]", "l: [o, e, 3, 3]", "q: [p, o, 1, 1]", "s: []"},
      joined({convs(), elementwise(), {scale}, concats({0, 1}), splits(1, "c")}));
  add(all, "image", {"x: [n, c, h, w]", "y: [n, c, h, w]", "z: [m, e, h, w]", "s: []"},
      joined({elementwise(), {max, average, scale}, concats({0, 1}), splits(0, "n"), splits(1, "c")}));
  add(all, "image", {"x: [n, c, h, w]", "y: [n, c, h, w]", "k: [o, c, 3, 3]", "l: [c, c, 1, 1]"},
      joined({convs(),
              {plain(Kind::add), average, enlarge},
              concats({0, 1}),
              constant(Kind::identity_kernel, 'c'),
              constant(Kind::pool_kernel, 'c')}));
}

void add_embedding(std::vector<Setting>& all) {
  const Node embedding = plain(Kind::embedding), bag = plain(Kind::embedding_bag), linear = plain(Kind::linear), scale = plain(Kind::scale);
  add(all, "embedding", {"i: [n] index", "j: [m] index", "w: [v, e]", "u: [v, e]", "y: [v, f]", "z: [e, k]", "s: []"},
      joined({{embedding, linear}, elementwise(), {scale}, concats({0, 1}), splits(0, "n"), splits(1, "e")}));
  add(all, "embedding",
      {"i: [n, b] index", "j: [m, b] index", "l: [n, c] index", "w: [v, e]", "u: [v, e]", "y: [v, f]", "z: [e, k]", "s: []"},
      joined({{bag, linear}, elementwise(), {scale}, concats({0, 1}), splits(0, "n"), splits(1, "eb")}));
  add(all, "embedding", {"i: [n, b] index", "j: [m, b] index", "l: [n, c] index", "w: [v, e]", "u: [v, f]"},
      joined({{embedding}, relu(), concats({0, 1, 2}), splits(0, "n"), splits(1, "b"), splits(2, "e")}));
  // a bag taken apart
  add(all, "embedding", {"i: [n, b] index", "l: [n, c] index", "w: [v, e]", "u: [v, e]", "s: []"},
      joined({{bag, embedding}, along_each(Kind::sum, {1}), elementwise(), {scale}, concats({1}), splits(1, "b")}));
}

// One variable for each layout: plain, each dim cut (of those given), copies, summands; then some with two.
Texts layouts_of(const std::string& name, const Texts& dims, const std::string& which, const std::string& end = "") {
  const auto text = [&](const std::string& suffix, const std::string& cut, const std::string& more) {
    std::string t = name + suffix + ": [";
    for (std::size_t d = 0; d < dims.size(); ++d)
      t += (d > 0 ? ", " : "") + dims[d] + (cut.find(static_cast<char>('0' + d)) != std::string::npos ? "/d" : "");
    return t + "]" + end + more;
  };
  Texts all{text("", "", "")};
  for (std::size_t from = 0; from < which.size();) {  // "0 1 c s 0c": space-separated
    const std::size_t to = std::min(which.find(' ', from), which.size());
    const std::string w = which.substr(from, to - from);
    std::string more;
    if (w.find('s') != std::string::npos) more += " sum d";
    if (w.find('c') != std::string::npos) more += " copy d";
    all.push_back(text(w, w, more));
    from = to + 1;
  }
  return all;
}
Texts together(std::initializer_list<Texts> all) {
  Texts result;
  for (const Texts& t : all) result.insert(result.end(), t.begin(), t.end());
  return result;
}

// Layout operators alone: d and e.
void add_layout(std::vector<Setting>& all) {
  const Operators both = joined({layouts(kD, {0, 1}), layouts(kE, {0, 1})});
  for (const char* x : {"x: [m, k]", "x: [m/d, k]", "x: [m/d, k] sum e", "x: [m/d, k] copy e", "x: [m] sum d", "x: [m] sum d*e",
                        "x: [m] sum d copy e", "x: [m/d, k/e]", "x: [m/d*e, k]", "x: [m/d*e, k/e]", "x: [m/d*e, k] sum d"})
    add(all, "layout", {x}, both);
  Operators products = both;
  for (const Degree d : {Degree{{1, 1, 0}}})
    for (const Node& n : layouts(d, {0})) products.push_back(n);
  for (const char* x : {"x: [m]", "x: [m/d*e]", "x: [m] sum d*e"}) {
    Operators one;
    for (const Node& n : products)
      if (n.axis == 0) one.push_back(n);
    add(all, "layout", {x}, one);
  }
}

void add_parallel_matrix(std::vector<Setting>& all) {
  const Node scale = plain(Kind::scale), transpose = plain(Kind::transpose);
  const Operators moves = layouts(kD, {0, 1});
  const Texts x = layouts_of("x", {"m", "k"}, "0 1 c s"), y = layouts_of("y", {"m", "k"}, "0 1 c s");
  add(all, "parallel matrix", together({x, y, {"s: []"}}), joined({elementwise(), {scale, transpose}, sums(), moves}));
  add(all, "parallel matrix", together({x, y, layouts_of("z", {"l", "k"}, "0 1 c s")}),
      joined({relu(), concats({0}), splits(0, "ml"), moves}));
  add(all, "parallel matrix", layouts_of("x", {"m+l", "k"}, "0 1 c s"), joined({relu(), splits(0, "m"), moves}));
  add(all, "parallel matrix", layouts_of("x", {"m", "k+n"}, "0 1 c s"), joined({relu(), splits(1, "k"), moves}));
  add(all, "parallel matrix", together({x, y, layouts_of("z", {"m", "n"}, "0 1 c s")}),
      joined({relu(), concats({1}), splits(1, "kn"), moves}));
  add(all, "parallel matrix", layouts_of("x", {"m", "k"}, "0 1 c s 0c 1c"), joined({{plain(Kind::dropout)}, relu(), moves}));
  const Texts rows = layouts_of("x", {"m", "k"}, "0 1 c s 0c 1c");
  add(all, "parallel matrix", together({rows, layouts_of("w", {"k", "n"}, "0 1 c s 0c 1c")}),
      joined({linears(), {plain(Kind::add)}, relu(), {transpose}, sums(), moves}));
  add(all, "parallel matrix",
      together({layouts_of("x", {"m", "k"}, "0 1 c"), layouts_of("w", {"k", "n"}, "0 1 c"), layouts_of("b", {"n"}, "0 c")}),
      joined({{plain(Kind::linear_bias), plain(Kind::linear_bias, Function::relu)}, relu(), layouts(kD, {0, 1})}));
  add(all, "parallel matrix", together({rows, layouts_of("w", {"k", "n"}, "0 1 c"), layouts_of("u", {"k", "n"}, "0 1 c")}),
      joined({linears(), concats({0, 1}), splits(1, "n"), moves}));
  add(all, "parallel matrix", together({layouts_of("x", {"m", "k"}, "0 c"), layouts_of("g", {"k"}, "c"), layouts_of("h", {"k"}, "c")}),
      joined({{plain(Kind::softmax), plain(Kind::layer_norm), plain(Kind::rms_norm)}, relu(), layouts(kD, {0, 1})}));
}

void add_parallel_others(std::vector<Setting>& all) {
  const Operators three = layouts(kD, {0, 1, 2});
  add(all, "parallel batched", together({layouts_of("x", {"b", "m", "k"}, "0 1 2 c s"), layouts_of("w", {"b", "k", "n"}, "0 1 2 c s")}),
      joined({{plain(Kind::batch_matmul)}, relu(), {plain(Kind::transpose)}, three}));
  add(all, "parallel batched", together({layouts_of("x", {"b", "m", "k"}, "0 1 2 c s"), layouts_of("y", {"b", "m", "k"}, "0 1 2 c s")}),
      joined({elementwise(), concats({2}), splits(2, "k"), {plain(Kind::softmax)}, three}));
  add(all, "parallel attention", layouts_of("x", {"b", "s", "3h"}, "0 1 2 c"), joined({{plain(Kind::attention)}, relu(), three}));
  const Operators image = layouts(kD, {0, 1, 2, 3}), moves = layouts(kD, {0, 1});
  const Texts x = layouts_of("x", {"n", "c", "h", "w"}, "0 1 2 3 c s"), y = layouts_of("y", {"n", "c", "h", "w"}, "0 1 2 3 c s");
  add(all, "parallel image",
      together({layouts_of("x", {"n", "c", "h", "w"}, "0 1 2 3 c s 0c 2c"), layouts_of("k", {"o", "c", "3", "3"}, "0 1 c s 0c")}),
      joined({convs(), relu(), {plain(Kind::add)}, image}));
  add(all, "parallel image",
      together({layouts_of("x", {"n", "c", "h", "w"}, "0 1 2 c"), layouts_of("k", {"o", "c", "3", "3"}, "0 1 c"),
                layouts_of("b", {"o"}, "0 c")}),
      joined({{plain(Kind::conv_bias), plain(Kind::conv_bias, Function::relu)}, relu(), image}));
  add(all, "parallel image", together({x, layouts_of("k", {"c", "1", "3", "3"}, "0 c")}), joined({convs(), relu(), image}));
  add(all, "parallel image", together({x, y}),
      joined(
          {{plain(Kind::add), plain(Kind::max_pool), plain(Kind::average_pool)}, concats({0, 1}), splits(0, "n"), splits(1, "c"), image}));
  add(all, "parallel image", together({x, layouts_of("g", {"c"}, "0 c"), layouts_of("b", {"c"}, "0 c")}),
      joined({{plain(Kind::batch_norm)}, relu(), image}));
  const std::string index = " index";
  add(all, "parallel embedding", together({layouts_of("i", {"n", "b"}, "0 1 c 0c", index), layouts_of("w", {"v", "e"}, "0 1 c 0c 1c")}),
      joined({{plain(Kind::embedding_bag)}, relu(), {plain(Kind::add)}, moves}));
  add(all, "parallel embedding", together({layouts_of("i", {"n", "b"}, "0 1 c", index), layouts_of("w", {"v", "e"}, "0 1 c")}),
      joined({{plain(Kind::embedding)}, relu(), three}));
  add(all, "parallel embedding", together({layouts_of("i", {"n"}, "0 c 0c", index), layouts_of("w", {"v", "e"}, "0 1 c 0c 1c")}),
      joined({{plain(Kind::embedding)}, relu(), moves}));
  add(all, "parallel embedding",
      {"i: [n, b] index", "i0: [n/d, b] index", "i1: [n, b/d] index", "ic: [n, b] index copy d", "w: [v, e]", "w0: [v/d, e]",
       "w1: [v, e/d]", "wc: [v, e] copy d"},
      joined({{plain(Kind::embedding_bag), plain(Kind::embedding), along(Kind::sum, 1)}, layouts(kD, {0, 1, 2})}));
  add(all, "parallel sum", together({layouts_of("x", {"b", "m", "k"}, "0 1 2 c s"), layouts_of("y", {"b", "m", "k"}, "0 1 2 c s")}),
      joined({along_each(Kind::sum, {0, 1, 2}), {plain(Kind::add)}, sums(), three}));
}

// One operator against all ways of cutting it: its inputs laid out, itself, its output put together.
void add_sharded(std::vector<Setting>& all) {
  const auto add_one = [&](const std::string& family, const Texts& texts, const Operators& operators,
                           std::initializer_list<std::uint8_t> axes) {
    add(all, family, texts, joined({operators, layouts(kD, axes)}));
    all.back().sharded = true;
  };
  add_one("parallel matrix", {"x: [m, k]", "w: [k, n]"}, linears(), {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "w: [k, n]", "b: [n]"}, {plain(Kind::linear_bias)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "w: [k, n]", "b: [n]"}, {plain(Kind::linear_bias, Function::relu)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "y: [m, k]"}, {plain(Kind::add), plain(Kind::multiply)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]"}, {plain(Kind::dropout), plain(Kind::unary, Function::relu)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "y: [l, k]"}, {along(Kind::concat, 0)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "y: [m, n]"}, {along(Kind::concat, 1)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "g: [k]", "h: [k]"}, {plain(Kind::layer_norm)}, {0, 1});
  add_one("parallel matrix", {"x: [m, k]", "g: [k]"}, {plain(Kind::rms_norm)}, {0, 1});
  add_one("parallel image", {"x: [n, c, h, w]", "g: [c]", "b: [c]"}, {plain(Kind::batch_norm)}, {0, 1, 2, 3});
  add_one("parallel batched", {"x: [b, m, k]", "w: [b, k, n]"}, {plain(Kind::batch_matmul)}, {0, 1, 2});
  add_one("parallel batched", {"x: [b, m, k]", "y: [b, m, k]"}, {plain(Kind::add), plain(Kind::multiply)}, {0, 1, 2});
  add_one("parallel image", {"x: [n, c, h, w]", "k: [o, c, 3, 3]"}, convs(), {0, 1, 2, 3});
  add_one("parallel image", {"x: [n, c, h, w]", "k: [c, 1, 3, 3]"}, convs(), {0, 1, 2, 3});
  for (const Function f : {Function::none, Function::relu}) {
    add_one("parallel image", {"x: [n, c, h, w]", "k: [o, c, 3, 3]", "b: [o]"}, {plain(Kind::conv_bias, f)}, {0, 1, 2, 3});
    add_one("parallel image", {"x: [n, c, h, w]", "k: [c, 1, 3, 3]", "b: [c]"}, {plain(Kind::conv_bias, f)}, {0, 1, 2, 3});
  }
  add_one("parallel image", {"x: [n, c, h, w]"}, {plain(Kind::max_pool), plain(Kind::average_pool)}, {0, 1, 2, 3});
  add_one("parallel image", {"x: [n, c, h, w]", "y: [n, c, h, w]"}, {plain(Kind::add)}, {0, 1, 2, 3});
  add_one("parallel image", {"x: [n, c, h, w]", "y: [n, o, h, w]"}, {along(Kind::concat, 1)}, {0, 1, 2, 3});
  add_one("parallel embedding", {"i: [n, b] index", "w: [v, e]"}, {plain(Kind::embedding_bag)}, {0, 1});
  add_one("parallel embedding", {"i: [n, b] index", "w: [v, e]"}, {plain(Kind::embedding)}, {0, 1, 2});
  add_one("parallel embedding", {"i: [n] index", "w: [v, e]"}, {plain(Kind::embedding)}, {0, 1});
  add_one("parallel sum", {"x: [b, m, k]"}, along_each(Kind::sum, {0, 1, 2}), {0, 1, 2});
  add_one("parallel attention", {"x: [b, s, 3h]"}, {plain(Kind::attention)}, {0, 1, 2});
}

}  // namespace

std::vector<Setting> settings() {
  std::vector<Setting> all;
  add_matrix(all);
  add_batched(all);
  add_sums(all);
  add_image(all);
  add_embedding(all);
  add_layout(all);
  add_parallel_matrix(all);
  add_parallel_others(all);
  add_sharded(all);
  return all;
}

}  // namespace substitutions
