#pragma once
// Quantities with a dimension, and only the arithmetic that physics allows. Values are SI (seconds, bytes, FLOPs);
// text always carries a unit ("12.5 GB/s", "1.5 us", "16 GiB").

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace base {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity o) { return value_ += o.value_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value_ -= o.value_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return a * k; }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  auto operator<=>(const Quantity&) const = default;

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Flops = Quantity<struct FlopsTag>;                    // a count of floating-point operations
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;  // a rate of them
using Dollars = Quantity<struct DollarsTag>;                // of the United States, in which prices of GPUs are quoted
using Watts = Quantity<struct WattsTag>;
using Joules = Quantity<struct JoulesTag>;

[[nodiscard]] constexpr BytesPerSecond gb_per_s(double value) { return BytesPerSecond(value * 1e9); }

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds(b.value() / r.value()); }
constexpr BytesPerSecond operator/(Bytes b, Seconds s) { return BytesPerSecond(b.value() / s.value()); }
constexpr Bytes operator*(BytesPerSecond r, Seconds s) { return Bytes(r.value() * s.value()); }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(f.value() / r.value()); }
constexpr FlopsPerSecond operator/(Flops f, Seconds s) { return FlopsPerSecond(f.value() / s.value()); }
constexpr Joules operator*(Watts w, Seconds s) { return Joules(w.value() * s.value()); }

// Text forms. parse_* returns the value, or nullopt when the text is no number with a unit of that dimension or the value is beyond a
// double (a bare number is refused). Decimal and binary prefixes differ: GB is 1e9, GiB is 2^30; bits: "400 Gbit/s".
[[nodiscard]] std::optional<Seconds> parse_seconds(std::string_view text);            // ns us ms s min h d day days week weeks
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);                // B kB KB MB ... PB, KiB ... PiB
[[nodiscard]] std::optional<BytesPerSecond> parse_bandwidth(std::string_view text);   // B/s ... PB/s, GiB/s, Gbit/s, Gb/s, Gbps
[[nodiscard]] std::optional<FlopsPerSecond> parse_flops_rate(std::string_view text);  // FLOP/s ... EFLOP/s (also FLOPS)
[[nodiscard]] std::optional<Dollars> parse_dollars(std::string_view text);            // USD kUSD MUSD
[[nodiscard]] std::optional<Watts> parse_watts(std::string_view text);                // W kW MW

// 4 significant digits in the largest unit that leaves at least 1 before the point: "12.5 GB/s", "1.3 us", "16 GiB".
[[nodiscard]] std::string to_text(Seconds s);
[[nodiscard]] std::string to_text(Bytes b);
[[nodiscard]] std::string to_text(BytesPerSecond r);
[[nodiscard]] std::string to_text(FlopsPerSecond r);
[[nodiscard]] std::string to_text(Dollars d);
[[nodiscard]] std::string to_text(Joules e);  // in Wh, kWh, MWh, GWh, as bills have it

enum class Dimension { time, bytes, bandwidth, flops_rate, power, money };
// Returns: a hint: 'write e.g. "400 Gbit/s" or "50 GB/s"'.
[[nodiscard]] std::string_view example_of(Dimension d);

}  // namespace base
