// What rules ask for, in words.
#include "search/rules/rule_files/rule_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "equations.hpp"

using namespace rules;

namespace {

std::vector<std::string> conditions(const char* text, bool forward = true) {
  return side_conditions({.name = "r", .equation = typed(text), .forward = forward});
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("sizes that must be equal, degrees that must divide, and who chooses a degree") {
  const char* rows = "x: [m, k] | w: [k, n] | linear[relu](x, w) = combine[0, d](linear[relu](partition[0, d](x), replicate[d](w)))";
  CHECK(conditions(rows) == Texts{"dim 0 of w = dim 1 of x", "d divides dim 0 of x", "d: any degree from 2"});
  CHECK(conditions(rows, false) ==
        Texts{"dim 0 of w = dim 1 of x", "d divides dim 0 of x", "d: the degree that the source has",
              "nothing else reads partition[0, d](x), replicate[d](w), linear[relu](partition[0, d](x), replicate[d](w))"});
}

TEST_CASE("of degrees of one dim only the largest is told") {
  CHECK(conditions("x: [m, n] | partition[0, d*e](x) = partition[0, e](partition[0, d](x))") ==
        Texts{"d*e divides dim 0 of x", "d: the degree that the source has", "e: the degree that the source has"});
}

TEST_CASE("equal shapes, sums of dims, numbers and layouts") {
  CHECK(conditions("x: [m, n] sum d | y: [m, n] sum d | add(reduce[d](x), reduce[d](y)) = reduce[d](add(x, y))") ==
        Texts{"y has the sizes of x", "x is d partial sums", "y is d partial sums", "d: the degree that the source has",
              "nothing else reads reduce[d](x), reduce[d](y)"});
  CHECK(conditions("z: [m, p+q] | x: [m, p] | y: [m, q] | concat[1](split0[1 at x.1](z), split1[1 at x.1](z)) = z") ==
        Texts{"dim 0 of x = dim 0 of z", "dim 0 of y = dim 0 of z", "dim 1 of z = dim 1 of x + dim 1 of y",
              "nothing else reads split0[1 at x.1](z), split1[1 at x.1](z)"});
  CHECK(conditions("x: [m, 2k] | c: [] | scale(x, c) = scale(x, c)") == Texts{"c is a number", "dim 1 of x is a multiple of 2"});
}

TEST_CASE("a split that no dims place cuts anywhere, others of the source where it does") {
  CHECK(conditions("x: [m, k+n] | y: [m, k+n] | add(split0[1 at k](x), split0[1 at k](y)) = split0[1 at k](add(x, y))") ==
        Texts{"y has the sizes of x", "x, y are cut at the same place", "nothing else reads split0[1 at k](x), split0[1 at k](y)"});
  CHECK(conditions("x: [m, k+n] | concat[1](split0[1 at k](x), split1[1 at k](x)) = x", false) == Texts{"x may be cut anywhere"});
}

TEST_CASE("kernels stand for any window where they are whole") {
  CHECK(conditions("x: [n, c, h, w] | k: [o, c, 3, 3] | relu(conv(x, k)) = conv[relu](x, k)") ==
        Texts{"dim 1 of k = dim 1 of x", "k has any number of rows and columns, with any stride and padding",
              "nothing else reads conv(x, k)"});
  CHECK(conditions("x: [n, c, h, w] | k: [o, c, 1, 3] | relu(conv(x, k)) = conv[relu](x, k)")[1] ==
        "k has 1 x 3 rows and columns, with stride 1 and the padding that keeps sizes");
}

TEST_CASE("a kernel's channels are told where they are numbers, its rows and columns once; a number that scales it is no kernel") {
  CHECK(conditions("x: [n, c, h, w] | k: [c, 1, 3, 3] | relu(conv(x, k)) = conv[relu](x, k)") ==
        Texts{"dim 0 of k = dim 1 of x", "dim 1 of k is 1", "k has any number of rows and columns, with any stride and padding",
              "nothing else reads conv(x, k)"});
  CHECK(conditions("x: [n, c, h, w] | k: [o, c, 3, 3] | s: [] | conv(x, scale(k, s)) = scale(conv(x, k), s)") ==
        Texts{"s is a number", "dim 1 of k = dim 1 of x", "k has any number of rows and columns, with any stride and padding",
              "nothing else reads scale(k, s)"});
}

TEST_CASE("windows are equal where a rule has several of one kind") {
  const auto equal = [](const char* text) {
    Texts all = conditions(text);
    std::erase_if(all, [](const std::string& t) { return !t.starts_with("windows"); });
    return all;
  };
  CHECK(equal("x: [n, c, h, w] | k: [o, c, 3, 3] | average_pool(conv(x, k)) = conv(average_pool(x), k)").empty());
  CHECK(equal("x: [n, c, h, w] | max_pool(average_pool(x)) = max_pool(average_pool(x))").empty());
  CHECK(equal("x: [n, c, h, w] | y: [n, c, h, w] | add(average_pool(x), average_pool(y)) = average_pool(add(x, y))") ==
        Texts{"windows of average pools are equal: rows, columns, stride and padding"});
  CHECK(equal("x: [n, c, h, w] | k: [o, c, 3, 3] | l: [o, c, 3, 3] | b: [o] | "
              "add(conv(x, k), conv_bias(x, l, b)) = conv_bias(x, add(k, l), b)") ==
        Texts{"windows of convolutions are equal: rows, columns, stride and padding"});
  // a 1 x 1 kernel is no window that others share
  CHECK(equal("x: [n, c, h, w] | k: [c, c, 3, 3] | l: [c, c, 1, 1] | conv(conv(x, k), l) = conv(conv(x, k), l)").empty());
}

TEST_CASE("where a dim is summed away no further dims ride along") {
  const char* text = "x: [m, n] | y: [m, n] | add(sum[1](x), sum[1](y)) = sum[1](add(x, y))";
  for (const bool forward : {true, false}) CHECK(conditions(text, forward)[0] == "tensors have just the rule's dims, no further ones");
}

TEST_CASE("attention is cut between key heads, whose number every degree that cuts it divides") {
  CHECK(conditions("x: [b, s, 3h] | attention(x) = combine[2, d](attention(partition[2, d](x)))") ==
        Texts{"dim 2 of x is a multiple of 3", "d divides dim 2 of x", "d divides the number of key heads", "d: any degree from 2"});
  CHECK(conditions("x: [b, s, 3h] | attention(partition[2, e](x)) = combine[2, d](attention(partition[2, d*e](x)))") ==
        Texts{"dim 2 of x is a multiple of 3", "d*e divides dim 2 of x", "d*e divides the number of key heads", "d: any degree from 2",
              "e: the degree that the source has", "nothing else reads partition[2, e](x)"});
  // behind an attention it is the width that is cut, which no variable has
  CHECK(conditions("x: [b, s, 3h] | partition[2, d](attention(x)) = partition[2, d](attention(x))") ==
        Texts{"dim 2 of x is a multiple of 3", "d divides dim 2 of attention(x)", "d: the degree that the source has",
              "nothing else reads attention(x)"});
}
