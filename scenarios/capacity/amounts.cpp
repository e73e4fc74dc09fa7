#include "scenarios/capacity/amounts.hpp"

#include <fmt/core.h>

#include <array>
#include <span>

#include "base/numbers.hpp"

namespace scenarios {
namespace {

using base::Yaml;

// What stands behind the unit of the amount, the longest first: "/h" ends "/gpu/h", too.
struct Ending {
  std::string_view text;
  Per per;
};
constexpr std::array kAnHour{Ending{"/gpu/h", Per::gpu}, Ending{"/node/h", Per::node}, Ending{"/h", Per::all}};
constexpr std::array kAYear{Ending{"/gpu/year", Per::gpu}, Ending{"/node/year", Per::node}, Ending{"/year", Per::all}};
constexpr std::array kAnyTime{Ending{"/gpu", Per::gpu}, Ending{"/node", Per::node}, Ending{"", Per::all}};
constexpr std::array kAKilowattHour{Ending{"/kWh", Per::all}};
constexpr std::array kAMegawattHour{Ending{"/MWh", Per::all}};

// How an amount is written, and between what bounds it lies: sums and products of such amounts stay finite.
template <class Amount>
struct Form {
  const char *what, *example;
  std::optional<Amount> (*parse)(std::string_view);
  std::span<const Ending> endings;
  double least = 1e-9, most = 1e15;
  bool may_be_zero = true;
};

template <class Amount>
std::optional<Each<Amount>> parse(std::string_view text, const Form<Amount>& form) {
  for (const Ending& ending : form.endings) {
    if (!text.ends_with(ending.text)) continue;
    const auto amount = form.parse(text.substr(0, text.size() - ending.text.size()));
    return amount ? std::optional(Each<Amount>{*amount, ending.per}) : std::nullopt;
  }
  return std::nullopt;
}

template <class Amount>
std::optional<Each<Amount>> read(base::MapReader& in, std::string_view key, const Form<Amount>& form) {
  const Yaml* y = in.optional(key);
  if (y == nullptr) return std::nullopt;
  const auto refuse = [&](const std::string& message) {
    in.complain(key, message, form.example);
    return std::nullopt;
  };
  if (!y->is_scalar()) return refuse(fmt::format("expected {}", form.what));
  const auto value = parse(y->scalar, form);
  if (!value && base::parse_number(y->scalar)) return refuse(fmt::format("\"{}\" has no unit", y->scalar));
  if (!value) return refuse(fmt::format("\"{}\" is not {}", y->scalar, form.what));
  if (value->amount < Amount(0)) return refuse(fmt::format("\"{}\" is negative", y->scalar));
  if (value->amount == Amount(0) && form.may_be_zero) return value;
  if (value->amount < Amount(form.least)) return refuse(fmt::format("\"{}\" is too small", y->scalar));
  if (value->amount > Amount(form.most)) return refuse(fmt::format("\"{}\" is too large", y->scalar));
  return value;
}

}  // namespace

std::optional<Each<base::Dollars>> read_price(base::MapReader& in, std::string_view key) {
  return read(
      in, key,
      Form<base::Dollars>{"a price", R"(write e.g. "2.50 USD/gpu/h", "20 USD/node/h" or "160 USD/h")", base::parse_dollars, kAnHour});
}

std::optional<Each<base::Dollars>> read_capex(base::MapReader& in, std::string_view key) {
  return read(in, key,
              Form<base::Dollars>{"the price of a machine", R"(write e.g. "300 kUSD/node", "35 kUSD/gpu" or "2 MUSD" for all)",
                                  base::parse_dollars, kAnyTime});
}

std::optional<Each<base::Dollars>> read_operations(base::MapReader& in, std::string_view key) {
  return read(in, key,
              Form<base::Dollars>{"a cost of operations", R"(write e.g. "20 kUSD/node/year" or "1 MUSD/year" for all)", base::parse_dollars,
                                  kAYear});
}

std::optional<base::Dollars> read_electricity(base::MapReader& in, std::string_view key) {
  constexpr const char *kWhat = "a price of electricity", *kExample = R"(write e.g. "0.10 USD/kWh")";
  const Yaml* y = in.optional(key);
  const bool per_megawatt_hour = y != nullptr && y->is_scalar() && y->scalar.ends_with("/MWh");
  const auto price = per_megawatt_hour ? read(in, key, Form<base::Dollars>{kWhat, kExample, base::parse_dollars, kAMegawattHour})
                                       : read(in, key, Form<base::Dollars>{kWhat, kExample, base::parse_dollars, kAKilowattHour});
  if (!price) return std::nullopt;
  return per_megawatt_hour ? price->amount / 1000 : price->amount;
}

std::optional<Each<base::Watts>> read_power(base::MapReader& in, std::string_view key) {
  return read(in, key, Form<base::Watts>{"a power", R"(write e.g. "10.2 kW/node" or "700 W/gpu")", base::parse_watts, kAnyTime});
}

std::optional<Each<base::BytesPerSecond>> read_store_bandwidth(base::MapReader& in, std::string_view key) {
  return read(in, key,
              Form<base::BytesPerSecond>{"a bandwidth", R"(write e.g. "2 GB/s/node", or "100 GB/s" for the whole store)",
                                         base::parse_bandwidth, kAnyTime, 1, 1e18, false});
}

}  // namespace scenarios
