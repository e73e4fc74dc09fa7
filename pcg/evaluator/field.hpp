#pragma once
// Arithmetic in the prime field of order 2^31 - 1, and hashes into it, which stand for functions that an exact evaluation does not compute.

#include <cstdint>

#include "base/hash.hpp"

namespace pcg::field {

constexpr std::uint32_t kPrime = 0x7FFFFFFF;

// Returns a value below 2^34 that is congruent to x, for 2^31 is 1 here; below 2^32 where x < 2^62.
constexpr std::uint64_t fold(std::uint64_t x) { return (x >> 31U) + (x & kPrime); }
constexpr std::uint32_t reduce(std::uint64_t x) { return static_cast<std::uint32_t>(x % kPrime); }
constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) { return reduce(std::uint64_t{a} + b); }
constexpr std::uint32_t subtract(std::uint32_t a, std::uint32_t b) { return reduce(std::uint64_t{a} + kPrime - b); }
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) { return reduce(std::uint64_t{a} * b); }
// Returns a^(p-2), by Fermat's little theorem. Requires: a is not 0.
constexpr std::uint32_t inverse(std::uint32_t a) {
  std::uint32_t result = 1;
  for (std::uint32_t e = kPrime - 2; e > 0; e >>= 1U, a = multiply(a, a))
    if (e & 1U) result = multiply(result, a);
  return result;
}

// base::Hash, which also gives an element of the field.
class Hash : private base::Hash {
 public:
  using base::Hash::Hash, base::Hash::value;
  constexpr Hash& operator()(std::uint64_t v) {
    base::Hash::operator()(v);
    return *this;
  }
  [[nodiscard]] constexpr std::uint32_t element() const { return reduce(value()); }
};

}  // namespace pcg::field
