#pragma once
// The arithmetic of operators over the field, on row-major elements. The evaluator of graphs and shards uses these kernels, and so do the
// values of terms in rules (search/rules/meaning). Functions that are not arithmetic (softmax, norms, activations) are not here, but for
// the stand-in of max-pooling: each user has its own stand-ins for them, because rules assume less of them than graphs compute.

#include <cstdint>
#include <span>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg::field {

using Sizes = std::span<const std::int64_t>;      // of a tensor, outermost first
using Elements = std::span<const std::uint32_t>;  // of a tensor, row-major, each below kPrime
using Sums = std::span<std::uint64_t>;            // to be reduced: below 2^64 while fewer than 2^32 terms are added
using Result = std::span<std::uint32_t>;          // of a tensor, row-major

// A tensor seen around one axis: value (o, a, i) lies at (o * axis + a) * inner + i.
struct Around {
  Around(Sizes sizes, std::size_t axis);
  [[nodiscard]] std::size_t at(std::int64_t o, std::int64_t a, std::int64_t i) const {
    return static_cast<std::size_t>((o * axis + a) * inner + i);
  }
  std::int64_t outer = 1, axis, inner = 1;
};

// --- products -------------------------------------------------------------------------------------------------------------

struct ProductSizes {
  std::int64_t m = 1, k = 1, n = 1;
  bool transposed = false;  // w is stored [n, k]
};
// Adds x[m, k] . w[k, n] to sums[m, n].
void add_product(const ProductSizes& sizes, Elements x, Elements w, Sums sums);

// The windows of an output, seen from the input. Where rows or columns are cut, the output's first row and column may lie inside the input.
struct Windows {
  Window rows, columns;
  std::int64_t first_row = 0, first_column = 0;  // in steps of a window
};
// A tensor of images [n, c, h, w] or of kernels [out, c / groups, h, w].
struct Images {
  Sizes sizes;
  Elements elements;
};
// Adds the convolution of x with the kernels w to sums[n, out, h, w], whose sizes are `out`; padding counts as 0.
void add_convolution(const Windows& windows, const Images& x, const Images& w, Sizes out, Sums sums);

// --- windows of one plane -------------------------------------------------------------------------------------------------

// Sets y[n, c, h, w], whose sizes are `out`: to the average of each window, where padding counts as 0; or to a stand-in for its maximum,
// which depends on all elements of the window and on which of them are padding.
void pool(Pool2d::Kind kind, const Windows& windows, const Images& x, Sizes out, Result y);

// --- sums and moves -------------------------------------------------------------------------------------------------------

// Sets y to the sums of x along the axis.
void sum_along(const Around& x_around, Elements x, Result y);
// Adds rows of a table [.., width] to the rows of y, `bag` of them to each. A row number outside the table adds nothing.
void add_rows(std::span<const std::int64_t> rows, Elements table, std::size_t width, std::size_t bag, Result y);
// Copies `length` layers of an axis from one tensor to another. Requires: the two have equal sizes but for that axis.
void copy_layers(const Around& from_around, Elements from, std::int64_t begin, const Around& to_around, Result to, std::int64_t at,
                 std::int64_t length);
// Sets y to x with its dims permuted: dim d of y is dim permutation[d] of x.
void permute(Sizes x_sizes, Elements x, std::span<const int> permutation, Result y);

}  // namespace pcg::field
