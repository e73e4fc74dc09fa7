#pragma once
// The one recipe for hashes: 64 bits that depend on the order of what is put in and are the same on every machine. Not for secrets.
// Source: the mixing step of splitmix64, G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

#include <cstdint>
#include <string_view>

namespace base {

// splitmix64's increment: 2^64 over the golden ratio, made odd.
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15U;

// Returns: `z` with its bits mixed so that each bit of the answer depends on each bit of z. Different z give different answers.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// A sequence of numbers as one: Hash(tag)(first)(second).value(). The tag keeps uses apart that hash the same numbers.
class Hash {
 public:
  constexpr explicit Hash(std::uint64_t tag) : state_(mix(tag)) {}
  constexpr Hash& operator()(std::uint64_t v) {
    state_ = mix(state_ ^ (v + kGoldenGamma));
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_;
};

[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text) {
  Hash h(text.size());
  for (const char c : text) h(static_cast<unsigned char>(c));
  return h.value();
}

}  // namespace base
