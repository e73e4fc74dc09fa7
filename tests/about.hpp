#pragma once
// The one comparison of real numbers in tests: CHECK(seconds == test::about(x)) holds where seconds are within `tolerance` times |x| of x.
//
// The comparison is purely relative, so that it bites whatever the unit: doctest's own adds a slack of tolerance times one second, byte or
// FLOP. It follows that about(0) is equal to 0 alone, an infinity to itself alone, and a NaN to nothing.
// The default allows what the order of a sum of doubles may change. A larger tolerance has a reason beside it: a published number with four
// digits, a fit to noisy samples.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <type_traits>

namespace test {

struct About {
  double value;
  double tolerance;
  mutable double compared = 0;  // with which number, for the message of a comparison that fails

  [[nodiscard]] bool equals(double x) const {
    compared = x;
    return x == value || (std::isfinite(value) && std::abs(x - value) <= tolerance * std::abs(value));
  }
};

[[nodiscard]] inline About about(double value, double tolerance = 1e-9) { return {value, tolerance}; }

template <class T>
concept Real = std::is_constructible_v<double, const T&>;

template <Real T>
bool operator==(const T& x, const About& a) {
  return a.equals(static_cast<double>(x));
}
template <Real T>
bool operator<=(const T& x, const About& a) {
  return a.equals(static_cast<double>(x)) || static_cast<double>(x) < a.value;
}
template <Real T>
bool operator>=(const T& x, const About& a) {
  return a.equals(static_cast<double>(x)) || static_cast<double>(x) > a.value;
}

// "about 1.1e-05 (0.9e-05 is -0.182 off, of 1e-09 allowed)": the numbers to more digits than doctest prints, and their relative difference.
inline doctest::String toString(const About& a) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "about %.12g (%.12g is %+.3g off, of %.3g allowed)", a.value, a.compared,
                (a.compared - a.value) / std::abs(a.value), a.tolerance);
  return text.data();
}

}  // namespace test
