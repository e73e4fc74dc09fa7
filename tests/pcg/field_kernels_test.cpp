#include "pcg/evaluator/field_kernels.hpp"

#include <doctest/doctest.h>

#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Wide = std::vector<std::uint64_t>;
using Dims = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a product adds to what is there, and reads weights stored either way") {
  const Numbers x{1, 2, 3, 4}, w{5, 6, 7, 8}, turned{5, 7, 6, 8};
  for (const bool transposed : {false, true}) {
    Wide sums{100, 0, 0, 0};
    field::add_product({2, 2, 2, transposed}, x, transposed ? turned : w, sums);
    CHECK(sums == Wide{119, 22, 43, 50});  // 100 + 1 * 5 + 2 * 7, 1 * 6 + 2 * 8, 3 * 5 + 4 * 7, 3 * 6 + 4 * 8
  }
}

TEST_CASE("products of the largest elements do not overflow their sum") {
  const std::uint32_t most = field::kPrime - 1;  // -1 in the field
  for (const std::int64_t k : {1, 2, 3, 4, 5, 6, 7, 1000})
    for (const bool transposed : {false, true}) {
      const Numbers x(static_cast<std::size_t>(k), most), w(static_cast<std::size_t>(2 * k), most);
      Wide sums{0, 0};
      field::add_product({1, k, 2, transposed}, x, w, sums);
      for (const std::uint64_t sum : sums) CHECK(field::reduce(sum) == k);  // k times (-1)(-1)
    }
}

TEST_CASE("a convolution pads with zeros and keeps groups apart") {
  // Two channels in two groups, planes of one row 1 2 3 and 4 5 6; kernels of one row 1 1 1 and 1 0 0, stride 1, padding 1.
  const Numbers x{1, 2, 3, 4, 5, 6}, w{1, 1, 1, 1, 0, 0};
  const Dims xs{1, 2, 1, 3}, ws{2, 1, 1, 3};
  Wide sums(6);
  field::add_convolution({{}, {.kernel = 3, .padding = 1}}, {xs, x}, {ws, w}, xs, sums);
  CHECK(sums == Wide{3, 6, 5, 0, 4, 5});  // 0 + 1 + 2, 1 + 2 + 3, 2 + 3 + 0; the left neighbours 0, 4, 5
}

TEST_CASE("windows count from the output's first row and column") {
  // The second half of an output of four columns, stride 2, over the whole input of eight.
  const Numbers x{1, 2, 3, 4, 5, 6, 7, 8}, w{1, 1};
  const Dims xs{1, 1, 1, 8}, ws{1, 1, 1, 2}, out{1, 1, 1, 2};
  Wide sums(2);
  field::add_convolution({{}, {.kernel = 2, .stride = 2}, 0, 2}, {xs, x}, {ws, w}, out, sums);
  CHECK(sums == Wide{11, 15});  // 5 + 6, 7 + 8
}

TEST_CASE("an average divides by the whole window; a maximum knows padding from zeros") {
  const Numbers x{3, 6, 0};
  const Dims xs{1, 1, 1, 3};
  const field::Windows windows{{}, {.kernel = 3, .padding = 1}};
  Numbers average(3), maximum(3);
  field::pool(Pool2d::Kind::average, windows, {xs, x}, xs, average);
  CHECK(average == Numbers{3, 3, 2});  // (0 + 3 + 6) / 3, (3 + 6 + 0) / 3, (6 + 0 + 0) / 3
  field::pool(Pool2d::Kind::max, windows, {xs, x}, xs, maximum);
  const Numbers zero{0, 3, 6};  // a zero where the padding was
  Numbers other(3);
  field::pool(Pool2d::Kind::max, windows, {xs, zero}, xs, other);
  CHECK(maximum[0] != other[1]);
}

TEST_CASE("layers are copied, dims permuted and axes summed around one axis") {
  const Numbers x{1, 2, 3, 4, 5, 6};  // [2, 3]
  const Dims xs{2, 3}, narrow{2, 1};
  Numbers column(2), turned(6), rows(3), columns(2);
  field::copy_layers({xs, 1}, x, 2, {narrow, 1}, column, 0, 1);
  CHECK(column == Numbers{3, 6});
  field::permute(xs, x, std::vector<int>{1, 0}, turned);
  CHECK(turned == Numbers{1, 4, 2, 5, 3, 6});
  field::sum_along({xs, 0}, x, rows);
  CHECK(rows == Numbers{5, 7, 9});
  field::sum_along({xs, 1}, x, columns);
  CHECK(columns == Numbers{6, 15});
}

TEST_CASE("rows of a table are added by bags; a row outside adds nothing") {
  const Numbers table{1, 2, 10, 20};  // [2, 2]
  Numbers y(4);
  field::add_rows(std::vector<std::int64_t>{0, 1, 1, -1, 2, 1}, table, 2, 3, y);
  CHECK(y == Numbers{21, 42, 10, 20});  // rows 0 + 1 + 1; row 1 alone
}

}  // namespace pcg
