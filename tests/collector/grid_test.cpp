#include "tools/collector/grid.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/collector/sampling.hpp"

namespace collector {
namespace {

const Device kH200;
const Device kV100{.name = "V100",
                   .major = 7,
                   .minor = 0,
                   .multiprocessors = 80,
                   .memory_bytes = 16e9,
                   .l2_bytes = 6e6,
                   .clock_hz = 1.53e9,
                   .memory_bytes_per_second = 9e11};

std::vector<Case> all_cases(const Device& d, std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Group& g : grid(d, seed)) cases.insert(cases.end(), g.cases.begin(), g.cases.end());
  return cases;
}
const Group& group(const std::vector<Group>& groups, const std::string& name) {
  const auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
  REQUIRE(at != groups.end());
  return *at;
}

TEST_CASE("the van der Corput sequence is the known one") {
  const double base_2[] = {0.5, 0.25, 0.75, 0.125, 0.625};
  for (std::uint64_t i = 1; i <= 5; ++i) CHECK(halton(i, 2) == base_2[i - 1]);
  CHECK(halton(5, 3) == test::about(2.0 / 3 + 1.0 / 9));  // 5 is 12 in base 3: mirrored 0.21
}

TEST_CASE("sizes are uniform in their logarithm and keep to their ends") {
  CHECK(log_uniform(0, 16, 65536) == 16);
  CHECK(log_uniform(0.5, 16, 65536) == 1024);
  CHECK(log_uniform(0.9999999, 16, 65536) == 65536);
  CHECK(log_uniform(0.3, 7, 7) == 7);
}

TEST_CASE("forms: whole tiles, beside them, multiples of 8, odd") {
  CHECK(in_form(1000, Form::whole_tile) == 1024);
  CHECK(in_form(1000, Form::below_tile) == 1023);
  CHECK(in_form(1000, Form::above_tile) == 1025);
  CHECK(in_form(100, Form::whole_tile) == 128);  // tiles of 64 below 512
  CHECK(in_form(1003, Form::eighth) == 1000);
  CHECK(in_form(1000, Form::odd) == 1001);
  CHECK(in_form(1, Form::below_tile) == 63);
}

TEST_CASE("every case fits the device and its time, and none comes twice in its group") {
  for (const Device& d : {kH200, kV100})
    for (const Group& g : grid(d, 0)) {
      CHECK(g.weight > 0);
      for (std::size_t i = 0; i < g.cases.size(); ++i) {
        CHECK(supports(d, g.cases[i]));
        CHECK(work_of(g.cases[i]).footprint <= largest_footprint(d));
        CHECK(predicted_seconds(d, g.cases[i]) <= kLongestLaunch_s);
        CHECK(std::find(g.cases.begin(), g.cases.begin() + static_cast<std::ptrdiff_t>(i), g.cases[i]) ==
              g.cases.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
}

TEST_CASE("a device is only asked for what it has") {
  std::set<Precision> v100, h200;
  for (const Case& c : all_cases(kV100, 0)) v100.insert(c.precision);
  for (const Case& c : all_cases(kH200, 0)) h200.insert(c.precision);
  CHECK(v100 == std::set<Precision>{Precision::fp32, Precision::fp16});
  CHECK(h200.size() == 5);
}

TEST_CASE("every operation is measured, and in the precisions that training uses") {
  std::map<Operation, std::set<Precision>> seen;
  for (const Case& c : all_cases(kH200, 0)) seen[c.operation].insert(c.precision);
  CHECK(seen.size() == kOperations);
  for (const auto& [operation, precisions] : seen) CHECK(precisions.contains(Precision::bf16));
}

TEST_CASE("fp8 products have sizes that the library accepts") {
  for (const Case& c : all_cases(kH200, 0)) {
    if (c.precision != Precision::fp8) continue;
    const auto& s = std::get<MatmulShape>(c.shape);
    CHECK(s.m % 16 + s.n % 16 + s.k % 16 == 0);
  }
}

TEST_CASE("the first hundred linear layers already hold whole tiles, their neighbours, odd sizes and several orders of magnitude") {
  const std::vector<Group> groups = grid(kH200, 0);
  const Group& linear = group(groups, "linear bf16");
  std::map<std::int64_t, int> remainders;
  double smallest = 1e30, largest = 0;
  std::map<Operation, int> operations;
  for (std::size_t i = 0; i < 100; ++i) {
    const auto& s = std::get<MatmulShape>(linear.cases[i].shape);
    for (const std::int64_t size : {s.m, s.n, s.k}) ++remainders[size % 64];
    smallest = std::min(smallest, work_of(linear.cases[i]).flops);
    largest = std::max(largest, work_of(linear.cases[i]).flops);
    ++operations[linear.cases[i].operation];
  }
  CHECK(remainders[0] > 60);   // 35 % of 300 and some multiples of 8
  CHECK(remainders[63] > 20);  // one below: 15 %
  CHECK(remainders[1] > 20);   // one above: 15 %
  CHECK(largest / smallest > 1e4);
  for (const auto& [operation, count] : operations) CHECK(count > 20);
}

TEST_CASE("waves step by single tiles across the number of multiprocessors") {
  const std::vector<Group> groups = grid(kH200, 0);
  std::set<std::int64_t> rows;
  for (const Case& c : group(groups, "waves bf16").cases) {
    const auto& s = std::get<MatmulShape>(c.shape);
    CHECK(s.m % 128 == 0);
    if (s.n == 1024 && s.k == 4096) rows.insert(s.m / 128);
  }
  // 8 tiles in a row: one full wave of 132 multiprocessors is 16.5 rows, three are 49.5.
  for (std::int64_t j = 1; j <= 49; ++j) CHECK(rows.contains(j));
}

TEST_CASE("the same seed gives the same grid, another seed other shapes") {
  CHECK(all_cases(kH200, 3) == all_cases(kH200, 3));
  CHECK_FALSE(all_cases(kH200, 3) == all_cases(kH200, 4));
}

TEST_CASE("convolutions have an output") {
  for (const Case& c : all_cases(kH200, 0))
    if (const auto* s = std::get_if<ConvolutionShape>(&c.shape)) {
      CHECK(s->out_height() > 0);
      CHECK(s->out_width() > 0);
      CHECK(s->channels % s->groups == 0);
      CHECK(s->out % s->groups == 0);
    }
}

TEST_CASE("peaks are those of the data sheets") {
  // H200: 989.4 TFLOP/s bf16, 494.7 tf32, 66.9 fp32, 1978.9 fp8 at 1.83 GHz (boost); V100 SXM2: 125 fp16, 15.7 fp32 at 1.53 GHz.
  Device h200 = kH200;
  h200.clock_hz = 1.83e9;
  CHECK(peak_flops(h200, Precision::bf16) == test::about(989.4e12, 0.001));
  CHECK(peak_flops(h200, Precision::tf32) == test::about(494.7e12, 0.001));
  CHECK(peak_flops(h200, Precision::fp8) == test::about(1978.9e12, 0.001));
  CHECK(peak_flops(h200, Precision::fp32) == test::about(61.8e12, 0.01));  // the sheet's 66.9 is at 1.98 GHz
  CHECK(peak_flops(kV100, Precision::fp16) == test::about(125e12, 0.01));
  CHECK(peak_flops(kV100, Precision::fp32) == test::about(15.7e12, 0.01));
  CHECK(peak_flops(kV100, Precision::bf16) == 0);
}

}  // namespace
}  // namespace collector
