// What rules ask for, in words.
#include "search/substitutions/side_conditions.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "equations.hpp"

using namespace substitutions;

namespace {

std::vector<std::string> conditions(const char* text, bool forward = true) {
  return side_conditions({.name = "r", .equation = equation(text), .forward = forward});
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

TEST_CASE("kernels stand for any window where they are whole") {
  CHECK(conditions("x: [n, c, h, w] | k: [o, c, 3, 3] | relu(conv(x, k)) = conv[relu](x, k)") ==
        Texts{"dim 1 of k = dim 1 of x", "k has any number of rows and columns, with any stride and padding",
              "nothing else reads conv(x, k)"});
  CHECK(conditions("x: [n, c, h, w] | k: [o, c, 1, 3] | relu(conv(x, k)) = conv[relu](x, k)")[1] ==
        "k has 1 x 3 rows and columns, with stride 1 and the padding that keeps sizes");
}

TEST_CASE("attention is cut between heads") {
  const Texts all = conditions("x: [b, s, 3h] | attention(x) = combine[2, d](attention(partition[2, d](x)))");
  CHECK(std::ranges::find(all, "d divides the number of heads") != all.end());
}
