// The tile model against times worked out by hand, and its laws.
#include "profiles/models/product_model.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "profiles/device_profile.hpp"
#include "tests/about.hpp"

using profiles::ProductDevice;
using profiles::ProductModel;
using profiles::ProductSizes;

namespace {

// 100 multiprocessors of 1 TFLOP/s, 1 TB/s. Nothing costs anything but FLOPs, and small tiles are as good as large ones.
const ProductDevice kDevice{100e12, 1e12, 100};
ProductModel plain() {
  ProductModel p;
  p.peak_share = 1;
  p.half_ratio = 1e-9;
  p.tail = 1;
  p.step_s = 1e-15;
  p.round_s = 1e-15;
  p.store_share = 1e9;
  p.bandwidth_share = 1;
  p.launch_s = 1e-6;
  p.split_s = 1;  // never worth it
  p.split_store_share = 1;
  p.overlap = 8;
  return p;
}
double us(const ProductModel& p, const ProductSizes& s) { return profiles::product_seconds(p, kDevice, s) * 1e6; }

}  // namespace

TEST_CASE("a hundred of the largest tiles are one round: 2 x 256 x 128 x 1000 FLOP on each multiprocessor take 65.5 us") {
  CHECK(us(plain(), {.m = 2560, .n = 1280, .k = 1000}) == test::about(1 + 65.536, 1e-6));
}

TEST_CASE("one column more starts another round, which small tiles fill better") {
  // 160 x 21 tiles of 16 x 64, 34 on the busiest multiprocessor, eight at a time: five rounds, of 8 x 2 x 16 x 64 x 1000 FLOP each.
  ProductModel p = plain();
  CHECK(us(p, {.m = 2560, .n = 1281, .k = 1000}) == test::about(1 + 5 * 16.384, 1e-6));
  p.tail = 0.25;  // the last round holds two tiles, and takes as long as two
  CHECK(us(p, {.m = 2560, .n = 1281, .k = 1000}) == test::about(1 + 4.25 * 16.384, 1e-6));
}

TEST_CASE("a product with few tiles waits for its loads: 4096 steps of 10 ns, though a 16 x 64 tile computes a step in 2 ns") {
  ProductModel p = plain();
  p.step_s = 1e-8;
  CHECK(us(p, {.m = 64, .n = 64, .k = 4096}) == test::about(1 + 40.96, 1e-6));
}

TEST_CASE("splitting k shortens the wait and costs its own: 4096 / 32 steps, 3 us, 32 x 64 x 64 x 8 B through 1 TB/s") {
  ProductModel p = plain();
  p.step_s = 1e-8;
  p.split_s = 3e-6;
  CHECK(us(p, {.m = 64, .n = 64, .k = 4096}) == test::about(1 + 1.28 + 3 + 1.048576, 0.01));
}

TEST_CASE("memory bounds a thin product: 1 GB through half of 1 TB/s") {
  ProductModel p = plain();
  p.bandwidth_share = 0.5;
  CHECK(us(p, {.m = 1, .n = 65536, .k = 8192, .bytes = 1e9}) == test::about(1 + 2000, 0.01));
}

TEST_CASE("smaller tiles are slower as their loads say: r is 85.3 for 256 x 128, 16 for 32 x 32") {
  // A 32 x 32 tile runs at (16 / 48) / (85.33 / 117.33) = 0.4583 of the largest one's rate; four of them are the fastest way.
  ProductModel p = plain();
  p.half_ratio = 32;
  CHECK(us(p, {.m = 64, .n = 64, .k = 100000}) == test::about(1 + 2 * 32 * 32 * 0.1 / 0.458333, 1e-5));
}

TEST_CASE("more of anything never takes less time") {
  CHECK(rc::check([] {
    const auto share = [](double least, double most) {
      return least * std::pow(most / least, static_cast<double>(*rc::gen::inRange(0, 1001)) / 1000);
    };
    const ProductModel p{share(0.3, 1), share(0.1, 100),   share(0.05, 1),    share(1e-11, 1e-8), share(1e-9, 1e-5), share(0.1, 10),
                         share(0.3, 1), share(1e-6, 5e-6), share(1e-7, 1e-5), share(0.1, 10),     share(1, 8)};
    const auto size = [&] { return std::round(share(1, 70'000)); };
    ProductSizes s{.batch = std::round(share(1, 500)), .m = size(), .n = size(), .k = size(), .bytes = 1e6};
    ProductSizes more = s;
    more.batch += *rc::gen::inRange(0, 3);
    more.m += *rc::gen::inRange(0, 300);
    more.n += *rc::gen::inRange(0, 300);
    more.k += *rc::gen::inRange(0, 300);
    more.bytes += *rc::gen::inRange(0, 1000);
    RC_ASSERT(profiles::product_seconds(p, kDevice, more) >= profiles::product_seconds(p, kDevice, s) * (1 - 1e-12));
  }));
}

TEST_CASE("an attention is its second product with the FLOPs of all: forward of 8 heads, 1024 queries and keys, 64 wide") {
  // Not causal: 4 x 8 x 1024 x 1024 x 64 FLOP, twice what scores x V alone takes.
  const pcg::Kernel k{
      .kind = pcg::KernelKind::attention, .flops = base::Flops(4.0 * 8 * 1024 * 1024 * 64), .batch = 8, .m = 1024, .n = 1024, .k = 64};
  const ProductSizes s = profiles::product_sizes(k, pcg::Precision::fp16);
  CHECK(s.n == 64);
  CHECK(s.k == 1024);
  CHECK(s.work == test::about(2));
  CHECK(s.element_bytes == 2);
}

TEST_CASE("a grid is linear between its nodes, flat outside, and says what it covers") {
  profiles::LogGrid g;
  g.axes = {{{0, 2}, {0, 1}, {0, 4, 8}}};
  g.values = {0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8};  // 8 at axis 0 = 2 and axis 1 = 1
  CHECK(g.at({2, 1, 3}) == test::about(8));
  CHECK(g.at({1, 0.5, 3}) == test::about(2));
  CHECK(g.at({5, 9, 90}) == test::about(8));
  CHECK(g.covers({2, 1, 8}));
  CHECK_FALSE(g.covers({2, 1, 8.1}));
  CHECK(profiles::LogGrid{g.axes, {}}.at({1, 1, 1}) == 0);
}
