#pragma once
// Arithmetic in the prime field of order 2^31 - 1, and hashes into it, which stand for functions that an exact evaluation does not compute.

#include <cstdint>
#include <string_view>

namespace pcg::field {

constexpr std::uint32_t kPrime = 0x7FFFFFFF;

// Returns a value below 2^32 that is congruent to x, for 2^31 is 1 here.
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

// An order-sensitive hash; the mixing step is that of splitmix64 (base/random.hpp names the source).
class Hash {
 public:
  constexpr explicit Hash(std::uint64_t tag) : state_(mix(tag)) {}
  constexpr Hash& operator()(std::uint64_t v) {
    state_ = mix(state_ ^ (v + 0x9E3779B97F4A7C15U));
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return state_; }
  [[nodiscard]] constexpr std::uint32_t element() const { return reduce(state_); }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

constexpr std::uint64_t hash_text(std::string_view text) {
  Hash h(text.size());
  for (char c : text) h(static_cast<unsigned char>(c));
  return h.value();
}

}  // namespace pcg::field
