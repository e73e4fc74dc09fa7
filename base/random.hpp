#pragma once
// A small seeded generator: the same seed gives the same numbers on every machine, which std::*_distribution does not promise.
// Source: splitmix64, G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Not for secrets.

#include <cstdint>

namespace base {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // Uniform over all 64-bit values.
  [[nodiscard]] std::uint64_t next();
  // Uniform over 0 .. n-1, without bias. Requires: n > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n);
  // Uniform over [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform();

 private:
  std::uint64_t state_;
};

}  // namespace base
