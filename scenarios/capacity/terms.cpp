#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/numbers.hpp"
#include "scenarios/capacity/terms.hpp"

namespace scenarios {
namespace {

using base::MapReader;
using base::Yaml;

constexpr std::array<const char*, 3> kWorkUnits = {"tokens", "samples", "iterations"};  // as Work::Unit has them
constexpr std::int64_t kMostWork = std::int64_t{1} << 53;
constexpr std::int64_t kMostNodes = 100'000;  // as of a cluster

// Suffixes of the unit of the amount, the longest first: "/h" ends "/gpu/h", too.
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
std::optional<Each<Amount>> read(MapReader& in, std::string_view key, const Form<Amount>& form) {
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

constexpr Form<base::Dollars> kPrice{"a price", R"(write e.g. "2.50 USD/gpu/h", "20 USD/node/h" or "160 USD/h")", base::parse_dollars,
                                     kAnHour};
constexpr Form<base::Dollars> kCapex{"the price of a machine", R"(write e.g. "300 kUSD/node", "35 kUSD/gpu" or "2 MUSD" for all)",
                                     base::parse_dollars, kAnyTime};
constexpr Form<base::Dollars> kOperations{"a cost of operations", R"(write e.g. "20 kUSD/node/year" or "1 MUSD/year" for all)",
                                          base::parse_dollars, kAYear};
constexpr Form<base::Watts> kPower{"a power", R"(write e.g. "10.2 kW/node" or "700 W/gpu")", base::parse_watts, kAnyTime};
// A bandwidth alone is that of the whole store.
constexpr Form<base::BytesPerSecond> kStoreBandwidth{
    "a bandwidth", R"(write e.g. "2 GB/s/node", or "100 GB/s" for the whole store)", base::parse_bandwidth, kAnyTime, 1, 1e18, false};

// Of a kWh.
std::optional<base::Dollars> read_electricity(MapReader& in, std::string_view key) {
  const Yaml* y = in.optional(key);
  const bool per_megawatt_hour = y != nullptr && y->is_scalar() && y->scalar.ends_with("/MWh");
  const auto price = read(in, key,
                          Form<base::Dollars>{"a price of electricity", R"(write e.g. "0.10 USD/kWh")", base::parse_dollars,
                                              per_megawatt_hour ? kAMegawattHour : kAKilowattHour});
  if (!price) return std::nullopt;
  return per_megawatt_hour ? price->amount / 1000 : price->amount;
}

Work read_work(MapReader& section) {
  Work work;
  const Yaml* train = section.required("train");
  if (train == nullptr) return work;
  MapReader in(*train, section.path_of("train"), section.sink(), "{tokens: 300B}");
  int said = 0;
  for (std::size_t unit = 0; unit < kWorkUnits.size(); ++unit) {
    const auto amount = in.amount(kWorkUnits[unit], 1, kMostWork);
    if (!in.has(kWorkUnits[unit])) continue;
    if (++said > 1) in.complain(kWorkUnits[unit], "another amount of work is given as well", "keep one of them");
    work = {static_cast<Work::Unit>(unit), static_cast<double>(amount.value_or(1))};
  }
  if (said == 0 && train->is_map())
    section.complain("train", "it does not say how much is trained", "write e.g. {tokens: 300e9}, {samples: 1e9} or {iterations: 500000}");
  in.finish();
  return work;
}

// `auto`, or a value that the other reader reads.
template <class Read>
auto unless_auto(MapReader& in, std::string_view key, Read&& read) -> decltype(read()) {
  const Yaml* y = in.optional(key);
  return y == nullptr || (y->is_scalar() && y->scalar == "auto") ? std::nullopt : read();
}

Checkpoints read_checkpoints(const Yaml& section, const std::string& path, base::Diagnostics& sink) {
  MapReader in(section, path, sink);
  Checkpoints c;
  c.size = unless_auto(in, "size", [&] { return in.bytes("size"); });
  in.require("bandwidth");
  c.bandwidth = read(in, "bandwidth", kStoreBandwidth).value_or(Each<base::BytesPerSecond>{base::BytesPerSecond(1)});
  c.interval = unless_auto(in, "interval", [&] { return in.seconds("interval"); });
  if (c.interval && *c.interval <= base::Seconds(0))
    in.complain("interval", "between two checkpoints there is some training", "write e.g. 30 min");
  in.finish();
  return c;
}

Reliability read_reliability(const Yaml& section, const std::string& path, base::Diagnostics& sink) {
  MapReader in(section, path, sink);
  Reliability r;
  const auto mtbf = in.seconds("mtbf_per_gpu");
  if (mtbf && *mtbf <= base::Seconds(0)) in.complain("mtbf_per_gpu", "failures have some time between them", "write e.g. 50000 h");
  r.mtbf_per_gpu = mtbf.value_or(kLlama3MtbfPerGpu);
  r.mtbf_is_default = !in.has("mtbf_per_gpu");
  r.restart = in.seconds("restart").value_or(kDefaultRestart);
  r.restart_is_default = !in.has("restart");
  if (const Yaml* checkpoint = in.required("checkpoint")) r.checkpoints = read_checkpoints(*checkpoint, in.path_of("checkpoint"), sink);
  in.finish();
  return r;
}

// A share above 0: what is divided by it stays finite.
double share(MapReader& in, std::string_view key) {
  constexpr double kLeastShare = 0.001;
  return in.number(key, kLeastShare, 1).value_or(1);
}

Owned read_owned(const Yaml& section, const std::string& path, bool has_power, base::Diagnostics& sink) {
  MapReader in(section, path, sink);
  Owned o;
  if (const auto nodes = in.integer("nodes", 1, kMostNodes)) o.nodes = static_cast<int>(*nodes);
  o.capex = read(in, "capex", kCapex);
  const auto years = in.number("years", 0.1, 100);
  o.years = years.value_or(1);
  if (in.has("capex") && !in.has("years")) in.complain("capex", "it does not say over how many years", "add years, e.g. years: 4");
  if (in.has("years") && !in.has("capex")) in.complain("years", "there is no capex to spread over years", "add capex, or remove years");
  o.utilisation = share(in, "utilisation");
  o.operations = read(in, "operations", kOperations).value_or(Each<base::Dollars>{});
  o.electricity = read_electricity(in, "electricity").value_or(base::Dollars(0));
  if (in.has("electricity") && !has_power)
    in.complain("electricity", "the candidate does not say how much power it draws",
                "add power to the candidate, e.g. power: 10.2 kW/node");
  in.finish();
  return o;
}

}  // namespace

CapacityTerms read_terms(MapReader& section) {
  CapacityTerms t;
  t.work = read_work(section);
  t.deadline = section.seconds("deadline");
  if (t.deadline && *t.deadline <= base::Seconds(0)) section.complain("deadline", "nothing is trained in no time", "write e.g. 30 days");
  t.budget = section.dollars("budget");
  if (t.budget && *t.budget <= base::Dollars(0)) section.complain("budget", "nothing is trained for no money", "write e.g. 2 MUSD");
  if (const Yaml* reliability = section.optional("reliability"))
    t.reliability = read_reliability(*reliability, section.path_of("reliability"), section.sink());
  return t;
}

CandidateTerms read_candidate_terms(MapReader& candidate) {
  CandidateTerms c;
  c.price = read(candidate, "price", kPrice);
  c.power = read(candidate, "power", kPower);
  c.pue = candidate.number("pue", 1, 10).value_or(1);
  if (candidate.has("pue") && !candidate.has("power"))
    candidate.complain("pue", "there is no power to multiply", "add power, e.g. power: 10.2 kW/node");
  if (const Yaml* owned = candidate.optional("owned"))
    c.owned = read_owned(*owned, candidate.path_of("owned"), candidate.has("power"), candidate.sink());
  if (c.owned && !c.owned->nodes && c.price)
    candidate.complain("price", "all nodes are owned, so that nothing is rented at a price",
                       "say how many are owned (owned: {nodes: 4, ...}), or remove the price");
  return c;
}

std::vector<int> read_nodes(MapReader& candidate) {
  const Yaml* y = candidate.optional("nodes");
  if (y == nullptr) return {};
  std::vector<int> nodes;
  const auto add = [&](const Yaml& item, const std::string& path) {
    const auto count = base::as_integer(item, path, candidate.sink());
    if (!count) return;
    if (*count < 1 || *count > kMostNodes)
      candidate.sink().add(
          item.mark, path,
          fmt::format("nodes must be at {}, found {}", *count < 1 ? "least 1" : fmt::format("most {}", kMostNodes), *count));
    else if (std::ranges::find(nodes, static_cast<int>(*count)) != nodes.end())
      candidate.sink().add(item.mark, path, fmt::format("{} nodes are asked for twice", *count), "keep one of them");
    else nodes.push_back(static_cast<int>(*count));
  };
  if (!y->is_sequence()) add(*y, candidate.path_of("nodes"));
  for (std::size_t i = 0; i < y->items.size(); ++i) add(y->items[i], fmt::format("{}[{}]", candidate.path_of("nodes"), i));
  if (y->is_sequence() && y->items.empty()) candidate.complain("nodes", "the list is empty", "write e.g. [4, 8, 16]");
  return nodes;
}

}  // namespace scenarios
