#include "profiles/imports/formats/kineto_time.hpp"

#include <charconv>
#include <cmath>

namespace imports::kineto {
namespace {

constexpr std::int64_t kMostMicroseconds = 3'000'000'000'000'000;  // sums and differences of two stay within 64 bits of nanoseconds

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  const char* const end = text.data() + text.size();
  double rounded = 0;
  const auto real = std::from_chars(text.data(), end, rounded);
  if (real.ec != std::errc() || real.ptr != end || !(std::abs(rounded) < static_cast<double>(kMostMicroseconds))) return std::nullopt;
  if (text.find_first_of("eE") != std::string_view::npos) return std::llround(rounded * 1000);
  std::int64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);  // stops at the point
  if (integer.ec != std::errc()) return std::llround(rounded * 1000);
  std::int64_t fraction = 0, unit = 100;
  for (const char* c = integer.ptr + (integer.ptr < end ? 1 : 0); c < end && unit > 0; ++c, unit /= 10) fraction += (*c - '0') * unit;
  return whole * 1000 + (text.front() == '-' ? -fraction : fraction);
}

}  // namespace imports::kineto
