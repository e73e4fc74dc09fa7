#include "base/random.hpp"

#include "base/check.hpp"
#include "base/hash.hpp"

namespace base {

std::uint64_t Random::next() {
  state_ += kGoldenGamma;
  return mix(state_);
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
