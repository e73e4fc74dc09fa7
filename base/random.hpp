#pragma once
// A small seeded generator: the same seed gives the same numbers on every machine, which std::*_distribution does not promise.
// Source: splitmix64, G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Not for secrets.

#include <cstdint>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace base {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // Uniform over all 64-bit values.
  [[nodiscard]] std::uint64_t next() { return mix(state_ += kGoldenGamma); }
  // Uniform over 0 .. n-1, without bias.
  // Requires: n > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) {
    BASE_CHECK(n > 0, "below(0) asks for a number from nothing");
    // 2^64 mod n values at the bottom would make small remainders likelier: draw again.
    const std::uint64_t uneven = (0 - n) % n;
    std::uint64_t drawn = next();
    while (drawn < uneven) drawn = next();
    return drawn % n;
  }
  // Uniform over [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace base
