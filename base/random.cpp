#include "base/random.hpp"

#include "base/check.hpp"

namespace base {

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::uint64_t Random::below(std::uint64_t n) {
  BASE_CHECK(n > 0, "below(0) asks for a number from nothing");
  // 2^64 mod n values at the bottom would make small remainders likelier: draw again.
  const std::uint64_t uneven = (0 - n) % n;
  std::uint64_t drawn = next();
  while (drawn < uneven) drawn = next();
  return drawn % n;
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

}  // namespace base
