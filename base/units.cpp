#include "base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/numbers.hpp"

namespace base {
namespace {

struct Unit {
  std::string_view name;
  double factor;  // SI value of 1 of it
};

constexpr double kKibi = 1024.0, kMebi = kKibi * 1024, kGibi = kMebi * 1024, kTebi = kGibi * 1024, kPebi = kTebi * 1024;

// Within a table, units that to_text() may print come first, ascending; the rest are only read.
constexpr std::array kTime{Unit{"ns", 1e-9},      Unit{"us", 1e-6},      Unit{"ms", 1e-3},     Unit{"s", 1},       Unit{"min", 60},
                           Unit{"h", 3600},       Unit{"days", 86400},   Unit{"d", 86400},     Unit{"day", 86400}, Unit{"week", 604800},
                           Unit{"weeks", 604800}, Unit{"\u00b5s", 1e-6}, Unit{"\u03bcs", 1e-6}};
constexpr std::array kBytes{Unit{"B", 1},       Unit{"kB", 1e3},    Unit{"MB", 1e6},    Unit{"GB", 1e9},
                            Unit{"TB", 1e12},   Unit{"PB", 1e15},   Unit{"KB", 1e3},    Unit{"KiB", kKibi},
                            Unit{"MiB", kMebi}, Unit{"GiB", kGibi}, Unit{"TiB", kTebi}, Unit{"PiB", kPebi}};
constexpr std::array kBits{Unit{"bit", 0.125}, Unit{"kbit", 125}, Unit{"Mbit", 125e3}, Unit{"Gbit", 125e6}, Unit{"Tbit", 125e9},
                           Unit{"kb", 125},    Unit{"Mb", 125e3}, Unit{"Gb", 125e6},   Unit{"Tb", 125e9}};
// Bits in a second as network cards are sold, and in small letters.
constexpr std::array kLinks{Unit{"G", 125e6},    Unit{"T", 125e9},    Unit{"GbE", 125e6},  Unit{"kbps", 125},
                            Unit{"mbps", 125e3}, Unit{"gbps", 125e6}, Unit{"tbps", 125e9}, Unit{"gbit/s", 125e6}};
constexpr std::array kFlops{Unit{"FLOP", 1},     Unit{"kFLOP", 1e3},  Unit{"MFLOP", 1e6}, Unit{"GFLOP", 1e9},
                            Unit{"TFLOP", 1e12}, Unit{"PFLOP", 1e15}, Unit{"EFLOP", 1e18}};
constexpr std::array kDollars{Unit{"USD", 1}, Unit{"kUSD", 1e3}, Unit{"MUSD", 1e6}};
constexpr std::array kWatts{Unit{"W", 1}, Unit{"kW", 1e3}, Unit{"MW", 1e6}};
constexpr std::array kWattHours{Unit{"Wh", 3600}, Unit{"kWh", 3.6e6}, Unit{"MWh", 3.6e9}, Unit{"GWh", 3.6e12}};

// Texts are printed with the units up to days, and up to PB or in the last ones, which are binary.
constexpr std::size_t kPrintedTimes = 7, kPrintedBytes = 6, kBinaryBytes = 5;

struct Split {
  double number;
  std::string_view unit;
};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Split> split(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return Split{number, trimmed(text)};
}

std::optional<double> factor_of(std::string_view unit, std::span<const Unit> units) {
  for (const Unit& u : units)
    if (u.name == unit) return u.factor;
  return std::nullopt;
}

// "GB/s" -> "GB"; "Gbps" -> "Gb"; empty when it is no rate.
std::string_view rated(std::string_view unit) {
  if (unit.ends_with("/s")) return unit.substr(0, unit.size() - 2);
  if (unit.ends_with("bps")) return unit.substr(0, unit.size() - 2);
  return {};
}

std::string print(double value, const Unit& unit, std::string_view suffix = {}) {
  return fmt::format("{} {}{}", plain_number(value / unit.factor, 4), unit.name, suffix);
}

// A number in a unit; nullopt where either is missing, and where the product is beyond all doubles.
template <class Quantity>
std::optional<Quantity> quantity(const std::optional<Split>& s, std::optional<double> factor) {
  const double value = s && factor ? s->number * *factor : std::numeric_limits<double>::infinity();
  return std::isfinite(value) ? std::optional(Quantity(value)) : std::nullopt;
}

// A quantity whose unit is in a list.
template <class Quantity>
std::optional<Quantity> parsed(std::string_view text, std::span<const Unit> units) {
  const auto s = split(text);
  return quantity<Quantity>(s, s ? factor_of(s->unit, units) : std::nullopt);
}

// The last unit that leaves at least 1 before the point; the first when all are too big.
const Unit& fitting(double value, std::span<const Unit> ascending) {
  const Unit* best = &ascending.front();
  for (const Unit& u : ascending)
    if (std::abs(value) >= u.factor) best = &u;
  return *best;
}

}  // namespace

std::optional<Seconds> parse_seconds(std::string_view text) { return parsed<Seconds>(text, kTime); }

std::optional<Bytes> parse_bytes(std::string_view text) { return parsed<Bytes>(text, kBytes); }

std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto s = split(text);
  if (!s) return std::nullopt;
  const std::string_view unit = rated(s->unit);
  if (const auto as_sold = factor_of(s->unit, kLinks)) return quantity<BytesPerSecond>(s, as_sold);
  const auto factor = factor_of(unit, kBytes);
  return quantity<BytesPerSecond>(s, factor ? factor : factor_of(unit, kBits));
}

std::optional<FlopsPerSecond> parse_flops_rate(std::string_view text) {
  const auto s = split(text);
  if (!s) return std::nullopt;
  std::string_view unit = s->unit;
  if (unit.ends_with("/s")) unit.remove_suffix(2);
  else if (unit.ends_with("FLOPS")) unit.remove_suffix(1);
  else return std::nullopt;
  return quantity<FlopsPerSecond>(s, factor_of(unit, kFlops));
}

std::optional<Dollars> parse_dollars(std::string_view text) { return parsed<Dollars>(text, kDollars); }

std::optional<Watts> parse_watts(std::string_view text) { return parsed<Watts>(text, kWatts); }

std::string to_text(Seconds s) {
  if (s.value() == 0) return "0 s";
  // Minutes, hours and days only from two of them on: "75.2 s" reads better than "1.253 min".
  const double size = std::abs(s.value()), magnitude = size < 120 ? std::min(size, 59.0) : size / 2;
  return print(s.value(), fitting(magnitude, std::span(kTime).first(kPrintedTimes)));
}

std::string to_text(Bytes b) {
  std::string decimal = print(b.value(), fitting(b.value(), std::span(kBytes).first(kPrintedBytes)));
  if (std::abs(b.value()) < kKibi || parse_bytes(decimal) == b) return decimal;
  std::string binary = print(b.value(), fitting(b.value(), std::span(kBytes).last(kBinaryBytes)));
  return parse_bytes(binary) == b ? binary : decimal;
}

std::string to_text(BytesPerSecond r) { return print(r.value(), fitting(r.value(), std::span(kBytes).first(kPrintedBytes)), "/s"); }

std::string to_text(FlopsPerSecond r) { return print(r.value(), fitting(r.value(), kFlops), "/s"); }

std::string to_text(Dollars d) { return print(d.value(), fitting(d.value(), kDollars)); }

std::string to_text(Joules e) { return print(e.value(), fitting(e.value(), kWattHours)); }

std::string_view example_of(Dimension d) {
  constexpr std::array examples{R"(write e.g. "1.5 us" or "30 days")",     R"(write e.g. "16 GiB" or "80 GB")",
                                R"(write e.g. "400 Gbit/s" or "50 GB/s")", R"(write e.g. "125 TFLOP/s")",
                                R"(write e.g. "500 W" or "1.2 kW")",       R"(write e.g. "300 kUSD" or "2 MUSD")"};
  return examples[static_cast<std::size_t>(d)];
}

}  // namespace base
