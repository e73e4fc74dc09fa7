#include "calibration/interval_fit.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/random.hpp"

using namespace calibration;

namespace {

Residual residual(const std::string& framework, const std::string& source, double log_ratio, double log2_gpus = 3) {
  Residual r;
  r.question = {{framework, "a100", "one node", "half", "whole"}, {30, log2_gpus, 40, 0, 0, 0, 0}};
  r.source = source;
  r.log_ratio = log_ratio;
  return r;
}

// Normal-ish noise: the sum of 12 uniform numbers has variance 1.
double noise(base::Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

std::vector<Residual> noisy(const std::string& framework, std::size_t n, double spread, std::uint64_t seed, double centre = 0) {
  base::Random random(seed);
  std::vector<Residual> rs;
  for (std::size_t i = 0; i < n; ++i)
    rs.push_back(residual(framework, framework, centre + spread * noise(random), static_cast<double>(i % 4)));
  return rs;
}

}  // namespace

TEST_CASE("conformal quantile of equal weights: the k-th smallest, k = ceil((n + 1)(1 - a))") {
  // n = 19, a = 0.05: k = ceil(20 x 0.95) = 19, the largest. n = 39: k = ceil(40 x 0.95) = 38. n = 18: k = 19 > n, too few.
  std::vector<double> values(39), weights(39, 1.0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(39 - i);
  CHECK(conformal_quantile(values, weights, 0.05).value == 38);
  const auto first = [&](std::size_t n) { return conformal_quantile({values.data() + 39 - n, n}, {weights.data(), n}, 0.05); };
  CHECK(first(19).enough);
  CHECK(first(19).value == 19);
  CHECK_FALSE(first(18).enough);
}

TEST_CASE("unequal weights: few heavy values count as few") {
  // Shares 1/2, 1/4, 1/4: effective number 1 / (1/4 + 1/16 + 1/16) = 2.67; a = 0.5: (3.67 x 0.5) / 2.67 = 0.6875, which 2 reaches.
  const std::vector<double> values{1, 2, 3}, weights{2, 1, 1};
  CHECK(conformal_quantile(values, weights, 0.5).value == 2);
}

TEST_CASE("a one-sided group gets a one-sided interval; it always holds the forecast") {
  std::vector<Residual> rs;
  for (int i = 1; i <= 40; ++i) rs.push_back(residual("megatron", "s", 0.01 * i));
  const auto m = fit_intervals(rs);
  REQUIRE(m.groups.size() == 1);
  // All are above 0, so the upper tail may miss all of the 10 %: k = ceil(41 x 0.9) = 37.
  CHECK(m.groups[0].spread.high == doctest::Approx(0.37));
  CHECK(m.groups[0].spread.low == doctest::Approx(-0.01));
  CHECK(m.groups[0].sources == std::vector<std::string>{"s"});
}

TEST_CASE("ten points: the two tails cannot be told apart; three: at least as wide as the pooled spread") {
  std::vector<Residual> rs;
  for (int i = 1; i <= 10; ++i) rs.push_back(residual("megatron", "s", 0.01 * i));
  auto m = fit_intervals(rs);
  // |r|, k = ceil(11 x 0.9) = 10.
  CHECK(m.groups[0].spread.low == doctest::Approx(-0.1));
  CHECK(m.groups[0].spread.high == doctest::Approx(0.1));
  for (const double r : {0.01, 0.02, -0.5}) rs.push_back(residual("pytorch", "t", r));
  m = fit_intervals(rs);
  REQUIRE(m.groups[1].kind.framework == "pytorch");
  CHECK(m.groups[1].spread.low <= -0.5);
  CHECK(m.groups[1].spread.high >= m.pooled_spread.high);
}

TEST_CASE("errors that grow beyond the middle of the range make intervals grow") {
  base::Random random(5);
  std::vector<Residual> flat, growing;
  for (int i = 0; i < 400; ++i) {
    const double x = random.uniform() * 8, e = 0.05 * noise(random);
    flat.push_back(residual("megatron", "s", e, x));
    growing.push_back(residual("megatron", "s", e * (x > 5 ? 1 + 2 * (x - 5) : 1), x));
  }
  CHECK(fit_intervals(growing).extrapolation_rate > fit_intervals(flat).extrapolation_rate + 1);
}

TEST_CASE("intervals from half of the points hold nine in ten of the other half") {
  auto rs = noisy("megatron", 300, 0.05, 1);
  const auto other = noisy("deepspeed", 200, 0.2, 2, 0.3);
  rs.insert(rs.end(), other.begin(), other.end());
  const UnseenCoverage h = unseen_coverage(rs, 7);
  CHECK(h.split_half_mean > 0.87);
  CHECK(h.split_half_mean < 0.94);
  CHECK(h.split_half.at("megatron") > 0.85);
  CHECK(h.split_half.at("deepspeed") > 0.85);
  CHECK(unseen_coverage(rs, 7).split_half_mean == h.split_half_mean);  // the same seed, the same splits
}

TEST_CASE("leave-one-group-out: the others' spread holds a kind where errors are alike") {
  std::vector<Residual> rs;
  for (int f = 0; f < 8; ++f) {
    const auto more = noisy("framework" + std::to_string(f), 60, 0.1, static_cast<std::uint64_t>(f) + 10);
    rs.insert(rs.end(), more.begin(), more.end());
  }
  CHECK(unseen_coverage(rs, 1).leave_one_group_out_mean > 0.87);
}

TEST_CASE("no residuals, no groups; one point of a kind promises nothing") {
  CHECK(fit_intervals({}).groups.empty());
  CHECK(fit_intervals(std::vector<Residual>{residual("megatron", "s", 0.1)}).groups.empty());
}

TEST_CASE("more residuals of the same sort never leave a spread open, whatever they are") {
  CHECK(rc::check([] {
    std::vector<Residual> rs;
    const auto values = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-300, 300));
    for (const int v : values) rs.push_back(residual(v % 2 == 0 ? "megatron" : "pytorch", v % 3 == 0 ? "s" : "t", v / 100.0, v % 5));
    const auto m = fit_intervals(rs);
    for (const auto& g : m.groups) RC_ASSERT(g.spread.low < 0 && g.spread.high > 0);
    RC_ASSERT(std::isfinite(m.extrapolation_rate) && m.extrapolation_rate >= 0);
  }));
}
