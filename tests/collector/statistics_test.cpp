#include "tools/collector/statistics.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace collector {
namespace {

TEST_CASE("median and quartiles, linear between neighbours") {
  const Summary s = summarise({4, 1, 3, 2});  // quartiles of 1 2 3 4: 1.75 and 3.25
  CHECK(s.median == 2.5);
  CHECK(s.spread == 1.5);
  CHECK(s.kept == 4);
  CHECK(s.rejected == 0);
  CHECK(quantile({1, 2, 3, 4, 5}, 0.25) == 2);
}

TEST_CASE("a sample far from the rest does not count") {
  // Median 10, deviations 0.1 and less: 5 * 1.4826 * 0.1 + 0.1 = 0.84 is allowed.
  const Summary s = summarise({9.9, 10.1, 10, 9.9, 10.1, 100, 10.5});
  CHECK(s.kept == 6);
  CHECK(s.rejected == 1);
  CHECK(s.median == test::about(10.05));
}

TEST_CASE("equal samples have no spread, and one that differs within 1 % stays") {
  CHECK(summarise({2, 2, 2}).spread == 0);
  CHECK(summarise({2, 2, 2, 2, 2.019}).rejected == 0);
  CHECK(summarise({2, 2, 2, 2, 2.021}).rejected == 1);
}

TEST_CASE("nothing gives nothing") {
  const Summary s = summarise({});
  CHECK(s.median == 0);
  CHECK(s.kept == 0);
}

TEST_CASE("a summary does not depend on the order, scales with the unit, and keeps at least half") {
  CHECK(rc::check([] {
    std::vector<double> samples;
    for (const int i : *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 100000)))) samples.push_back(i);
    const Summary s = summarise(samples);
    std::vector<double> doubled = samples;
    std::reverse(doubled.begin(), doubled.end());
    for (double& x : doubled) x *= 2;
    const Summary twice = summarise(doubled);
    RC_ASSERT(twice.median == 2 * s.median);
    RC_ASSERT(twice.kept == s.kept);
    RC_ASSERT(s.kept + s.rejected == static_cast<int>(samples.size()));
    RC_ASSERT(2 * s.kept >= static_cast<int>(samples.size()));
    RC_ASSERT(s.median >= *std::min_element(samples.begin(), samples.end()));
    RC_ASSERT(s.median <= *std::max_element(samples.begin(), samples.end()));
  }));
}

}  // namespace
}  // namespace collector
