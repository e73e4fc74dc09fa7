#include "base/random.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/check.hpp"

using namespace base;

TEST_CASE("seed 0 gives splitmix64's published first value") {
  // state 0 + 0x9E37...7C15, mixed: 0xE220A8397B1DCDAF is the first output for seed 0 in the reference implementation.
  CHECK(Random(0).next() == 0xE220A8397B1DCDAFU);
}

TEST_CASE("numbers stay in their range and a seed repeats them") {
  CHECK(rc::check("below and uniform", [](std::uint64_t seed, std::uint64_t n) {
    RC_PRE(n > 0U);
    Random a(seed), b(seed);
    RC_ASSERT(a.below(n) < n);
    const double u = a.uniform();
    RC_ASSERT(u >= 0 && u < 1);
    RC_ASSERT(b.below(n) < n);
    RC_ASSERT(b.uniform() == u);
  }));
  CHECK_THROWS_AS((void)Random(1).below(0), InternalError);
}

TEST_CASE("below(6) is a fair die") {
  Random random(7);
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts[random.below(6)];
  // Binomial(60000, 1/6): mean 10000, deviation sqrt(60000 * 5/36) = 91.3; five deviations are 456.
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 457);
}
