#include "scenarios/confidence/fit/interval_fit.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/random.hpp"
#include "tests/about.hpp"

using namespace confidence;

namespace {

Residual residual(const std::string& framework, const std::string& source, double log_ratio, double host = 0) {
  Residual r;
  r.question = {{framework, "device of " + source, "one node", "half", "whole", "dense"}, 30, {host, 0}};
  r.source = source;
  r.family = "family of " + source;
  r.log_ratio = log_ratio;
  return r;
}

// Normal-ish noise: the sum of 12 uniform numbers has variance 1.
double noise(base::Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

// Some sources of a framework, 40 points each; the host's share goes from 0 to 1, and multiplies the noise by e^(growth x share).
void add(std::vector<Residual>& rs, const std::string& framework, int sources, double spread, std::uint64_t seed, double growth = 0) {
  base::Random random(seed);
  for (int s = 0; s < sources; ++s)
    for (int i = 0; i < 40; ++i)
      rs.push_back(residual(framework, framework + std::to_string(s), spread * std::exp(growth * i / 40) * noise(random), i / 40.0));
}

}  // namespace

TEST_CASE("the interval score is the width, and 20 times what a nine-in-ten interval misses by") {
  CHECK(interval_score({-0.1, 0.2}, 0, 0.9) == test::about(0.3));
  CHECK(interval_score({-0.1, 0.2}, 0.25, 0.9) == test::about(0.3 + 20 * 0.05));
  CHECK(interval_score({-0.1, 0.2}, -0.2, 0.9) == test::about(0.3 + 20 * 0.1));
}

TEST_CASE("quantiles stand at the middles of equal shares") {
  // Of 0.01 .. 0.40 the k-th twentieth has its middle at 2 (k + 1/2) + 1/2: 1.5, 3.5, ...; growth does not matter, as nothing waits.
  std::vector<Residual> rs;
  for (int i = 1; i <= 40; ++i) rs.push_back(residual("megatron", "s", 0.01 * i));
  const auto m = fit_intervals(rs);
  REQUIRE(m.groups.size() == 1);
  CHECK(m.groups[0].source == "s");
  CHECK(m.groups[0].points == 40);
  CHECK(m.groups[0].weight == test::about(std::pow(40, 0.75)));
  REQUIRE(m.groups[0].quantiles.size() == 20);
  CHECK(m.groups[0].quantiles.front() == test::about(0.015));
  CHECK(m.groups[0].quantiles.back() == test::about(0.395));
}

TEST_CASE("a group weighs more for more points, whoever published it, but less than in proportion") {
  std::vector<Residual> rs;
  for (int i = 0; i < 32; ++i) rs.push_back(residual("megatron", i < 16 ? "a" : "b", 0.01 * i));
  for (Residual& r : rs) r.publication = "one paper";
  rs[3].question.gpus = 64;
  rs.push_back(residual("megatron", "c", 0.1));
  const auto m = fit_intervals(rs);
  REQUIRE(m.groups.size() == 3);
  CHECK(m.groups[0].weight == test::about(8));  // 16^(3/4)
  CHECK(m.groups[1].weight == test::about(8));
  CHECK(m.groups[0].most_gpus == 64);
  CHECK(m.groups[1].most_gpus == 1);
  CHECK(m.groups[2].weight == test::about(1));
}

TEST_CASE("errors that grow with the host's share make spreads grow") {
  std::vector<Residual> flat, growing;
  add(flat, "megatron", 6, 0.05, 5);
  add(growing, "megatron", 6, 0.05, 5, 1.5);
  CHECK(fit_intervals(flat).growth.rate[0] <= 0.5);
  CHECK(fit_intervals(growing).growth.rate[0] >= 1);
}

TEST_CASE("frameworks whose errors differ are told apart, such as do not differ are not") {
  std::vector<Residual> differ, alike;
  add(differ, "megatron", 4, 0.02, 1);
  add(differ, "pytorch", 12, 0.4, 2);
  add(alike, "megatron", 6, 0.1, 1);
  add(alike, "pytorch", 6, 0.1, 2);
  const auto m = fit_intervals(differ);
  CHECK(m.similarity.other_software < fit_intervals(alike).similarity.other_software);
  const auto width = [&](const char* framework) {
    const scenarios::Spread s = scenarios::spread_for(m, {{framework, "new", "one node", "half", "whole", "dense"}, 30, {0, 0}});
    return s.high - s.low;
  };
  CHECK(width("megatron") < 0.3 * width("pytorch"));
}

TEST_CASE("intervals hold nine in ten of sources, machines and families that did not make them") {
  std::vector<Residual> rs;
  add(rs, "megatron", 6, 0.05, 11);
  add(rs, "deepspeed", 6, 0.2, 12);
  const UnseenCoverage unseen = unseen_coverage(rs);
  CHECK(unseen.by_group.size() == 12);
  for (const std::string by : {"source", "machine", "family"}) {
    double inside = 0, points = 0;
    for (const LeftOutFigures& l : unseen.left_out) {
      if (l.by != by) continue;
      inside += l.inside * static_cast<double>(l.points);
      points += static_cast<double>(l.points);
      CHECK(l.width > 0);
      CHECK(l.score > 0);
    }
    CHECK(points == static_cast<double>(rs.size()));
    CHECK(inside / points > 0.86);
    CHECK(inside / points < 0.97);
  }
}

TEST_CASE("few residuals make no model") {
  CHECK(fit_intervals({}).groups.empty());
  const std::vector<Residual> few(kLeastResiduals - 1, residual("megatron", "s", 0.1));
  CHECK(fit_intervals(few).groups.empty());
  CHECK(unseen_coverage(few).left_out.empty());
  CHECK(unseen_coverage(few).by_group.empty());
}

TEST_CASE("whatever the residuals are, spreads are finite and hold the forecast") {
  CHECK(rc::check([] {
    std::vector<Residual> rs;
    const auto values = *rc::gen::container<std::vector<int>>(30, rc::gen::inRange(-300, 300));
    for (const int v : values) rs.push_back(residual(v % 2 == 0 ? "megatron" : "pytorch", v % 3 == 0 ? "s" : "t", v / 100.0));
    const auto m = fit_intervals(rs);
    const scenarios::Spread s = scenarios::spread_for(m, rs[0].question);
    RC_ASSERT(std::isfinite(s.low) && std::isfinite(s.high));
    RC_ASSERT(s.low < 0 && s.high > 0);
    RC_ASSERT(m.tail > 0 && m.tail <= 0.05 + 1e-12);
  }));
}
